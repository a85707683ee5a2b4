import { describe, expect, it } from "vitest";
import { compactConversation } from "../../src/operations/compact.ts";
import type { SummarySource } from "../../src/operations/compaction-request.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { usualSummary } from "../support/compaction-on-demand.ts";
import { policyOf } from "../support/policy-of.ts";
import { createStrictMessages } from "../support/stand-in-thinking.ts";

type Json = Readonly<Record<string, unknown>>;

const base = { model: "claude-opus-5-5", max_tokens: 4096, tools: [{ name: "Read" }], system: "Work." };
const beta = ["compact-2026-09-04"];
const strategy = { kind: "built_in", name: "provider" } as const;
const secretFact = (number: number) => `PORT_${number}=${40_000 + number}`;

/** A body of the strict API: each answer thinks and calls a tool, each result holds a fact. */
function played(turns: number, summary = usualSummary) {
	const api = createStrictMessages({ account: "newer", compaction: { summary } });
	const messages: Json[] = [{ role: "user", content: "Read the files. Never touch the migrations." }];
	for (let number = 1; number <= turns; number += 1) {
		const received = api.receive({ ...base, messages }, beta);
		if (received.kind === "refused") throw new Error(received.refusal.message);
		const { content } = received.answer({
			number,
			answer: { kind: "call", turn: number, tool: "Read", input: { path: `f${number}` } },
		});
		const { id } = content.at(-1) as Json;
		const text = `${secretFact(number)}\n${"A line of the file. ".repeat(200)}`;
		messages.push(
			{ role: "assistant", content },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text }] },
		);
	}
	const answer = (body: Json) => {
		const received = api.receive(body, beta);
		if (received.kind === "refused") throw new Error(received.refusal.message);
		const { content, compaction } = received.answer({ number: 0, answer: { kind: "text", text: "" } });
		return JSON.stringify({ role: "assistant", content, stop_reason: compaction?.reason });
	};
	return { api, body: { ...base, messages } as Json, answer };
}

const memory = async () => (await openArchive({ where: "memory" })) as Archive;

function compact(conversation: unknown, answer: SummarySource, given: { archive?: Archive; layer?: object } = {}) {
	const policy = policyOf({ locale: "en", compaction: { keep_last_messages: 4 }, ...given.layer });
	return compactConversation({
		conversation,
		policy,
		strategy,
		answer,
		force: true,
		archive: given.archive,
		recall: "offered",
	});
}

async function twoSteps(turns: number, given: Parameters<typeof compact>[2] = {}, summary = usualSummary) {
	const { api, body, answer } = played(turns, summary);
	const asked = await compact(body, { kind: "caller" }, given);
	const { provider_request, summary_token: token } = asked.request ?? {};
	expect(asked.conversation).toBe(body);
	const done = await compact(body, { kind: "given", summary: answer(provider_request?.body ?? {}), token }, given);
	return { api, body, asked, done, messages: (done.conversation as { messages: Json[] }).messages };
}

describe("compaction by the provider, in two pure steps", () => {
	it("puts the block in place of the messages that were sent, and all reasoning behind it stays valid", async () => {
		const { api, body, asked, done, messages } = await twoSteps(8);
		expect(done.report).toMatchObject({ result: "summarised", summary: { by: "provider" } });
		expect(messages[0]).toMatchObject({ role: "assistant", content: [{ type: "compaction" }] });
		expect(messages.slice(1)).toEqual((body.messages as Json[]).slice(asked.request?.messages.count));
		const received = api.receive(done.conversation as Json, beta);
		expect(received).toMatchObject({ kind: "accepted", findings: { sent: 2, dropped: 0, lost: 0 } });
	});

	it("archives the originals first, and one line names them", async () => {
		const archive = await memory();
		const { done, messages } = await twoSteps(22, { archive });
		const [{ content }] = (messages[0] as { content: { content: string }[] }).content as [{ content: string }];
		const { ref = "" } = done.report.summary ?? {};
		expect(content).toContain(`[Original messages before this point: recall_original, ref=${ref}]`);
		const { text } = await archive.get(ref);
		for (let number = 1; number <= 20; number += 1) {
			expect(content).not.toContain(secretFact(number));
			expect(text).toContain(secretFact(number));
		}
	});

	it("asks for people's words in the instructions, and where the summary lacks them puts them behind all kept reasoning", async () => {
		const { asked, messages } = await twoSteps(6);
		const sent = asked.request?.provider_request?.body ?? {};
		const { compaction } = sent as { compaction: { instructions: string } };
		expect(compaction.instructions).toContain("Never touch the migrations.");
		expect(JSON.stringify(messages[0])).toContain("Never touch the migrations.");

		const { api, done, messages: forgotten } = await twoSteps(6, {}, () => "Work goes on.");
		expect(JSON.stringify(forgotten[0])).not.toContain("migrations");
		expect(JSON.stringify(forgotten.at(-1))).toContain("Never touch the migrations.");
		expect(api.receive(done.conversation as Json, beta)).toMatchObject({ kind: "accepted", findings: { dropped: 0 } });
	});

	it("says the system messages of the summarised part again, behind the last message", async () => {
		const { body, answer } = played(6);
		const system = { role: "system", content: "Be brief." };
		const [task, ...rest] = body.messages as Json[];
		const mixed = { ...body, model: "claude-opus-5", messages: [task, system, ...rest.map(withoutThinking)] };
		const { request } = await compact(mixed, { kind: "caller" });
		const answered = answer(request?.provider_request?.body ?? {});
		const done = await compact(mixed, { kind: "given", summary: answered, token: request?.summary_token });
		expect((done.conversation as { messages: Json[] }).messages.at(-1)).toEqual(system);
	});

	it("puts what the summary lacks into a message without content", async () => {
		const calls = Array.from({ length: 6 }, (_, number) => [
			{ role: "assistant", content: [{ type: "tool_use", id: `t${number}`, name: "Read", input: {} }] },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: `t${number}`, content: "line\n".repeat(400) }] },
		]).flat();
		const messages = [
			{ role: "user", content: "Never touch the migrations." },
			...calls,
			{ role: "assistant", content: "Done." },
			{ role: "user", content: null },
		];
		const body = { ...base, model: "claude-opus-5", messages };
		const layer = { layer: { compaction: { keep_last_messages: 2 } } };
		const { request } = await compact(body, { kind: "caller" }, layer);
		const block = { type: "compaction", content: "Work goes on.", signature: "c2ln" };
		const summary = JSON.stringify({ role: "assistant", content: [block], stop_reason: "compaction" });
		const done = await compact(body, { kind: "given", summary, token: request?.summary_token }, layer);
		const { content } = (done.conversation as { messages: Json[] }).messages.at(-1) as Json;
		expect(JSON.stringify(content)).toContain("Never touch the migrations.");
		expect(JSON.stringify(content)).not.toMatch(/null|undefined/);
	});

	it("changes nothing where the answer has no block, the messages have changed, or a condition is broken", async () => {
		const { body, answer } = played(6);
		const { request } = await compact(body, { kind: "caller" });
		const token = request?.summary_token;
		const none = JSON.stringify({ stop_reason: "refusal", content: [] });
		await expect(compact(body, { kind: "given", summary: none, token })).rejects.toMatchObject({
			code: "summary_refused",
			message: expect.stringContaining("refusal"),
		});
		const changed = { ...body, messages: [{ role: "user", content: "Else." }, ...(body.messages as Json[]).slice(1)] };
		const summary = answer(request?.provider_request?.body ?? {});
		await expect(compact(changed, { kind: "given", summary, token })).rejects.toMatchObject({ code: "stale_edit" });
		const older = { ...body, model: "claude-opus-4-1" };
		await expect(compact(older, { kind: "caller" })).rejects.toThrow(/unchanged: model_without_compaction \(/);
		await expect(compact([{ role: "tool", tool_call_id: "a", content: "x" }], { kind: "caller" })).rejects.toThrow(
			/Messages API/,
		);
	});
});

function withoutThinking(message: Json): Json {
	if (!Array.isArray(message.content)) return message;
	return { ...message, content: (message.content as Json[]).filter(({ type }) => type !== "thinking") };
}
