import { describe, expect, it } from "vitest";
import type { Message } from "../../src/engine/conversation/transcript.ts";
import type { LocaleName } from "../../src/engine/policy/names.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { rows } from "../formats/all-rows.ts";
import { toolsOf } from "../formats/format-row.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { assistant, calls, type Entry, results, system, toolTurn, user } from "../support/script.ts";

const requests = rows.filter((row) => row.format.write.appends);

const sessions = rows.filter((row) => !row.format.write.appends);

const request = "[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.";

/** An answer of Chat Completions that was cut; calls by their arguments. */
function cut(content: string, ...written: string[]) {
	const tool_calls = written.map((given, index) => ({ id: `c${index}`, function: { name: "ls", arguments: given } }));
	return { choices: [{ finish_reason: "length", message: { role: "assistant", content, tool_calls } }] };
}

async function planFor(conversation: unknown, lastResponse: unknown, locale: LocaleName = "fr") {
	// Nothing else is to be done in a window of this size.
	const given = { conversation, lastResponse, policy: policyOf({ locale }), contextWindow: 10_000_000 };
	const { conversation: written, edits, error, report } = await guardConversation(given);
	if (!report.follow_up || error) throw new Error(`Expected a follow-up without an error, got ${error}.`);
	return { written, edits, report: report.follow_up, tokens: report.tokens };
}

/** What comes of a conversation, read again, and what was put into it. */
async function followUp(document: unknown, response: unknown) {
	const plan = await planFor(document, response);
	expect(plan.report.appended).toBe(true);
	const { written, tokens } = plan;
	const [before, after] = [document, written].map((one) => readConversation(one));
	if (!before || !after) throw new Error("Expected two conversations.");
	expect(after.format).toBe(before.format);
	expect(plan.edits.reduce((sum, edit) => sum + edit.after.tokens, 0)).toBe(tokens.after - tokens.before);
	for (const edit of plan.edits) {
		expect(edit).toMatchObject({ kind: "insert", reason: "append", before: { chars: 0, tokens: 0 } });
	}
	const count = before.transcript.messages.length;
	expect(asJson(after.transcript.messages.slice(0, count - 1))).toBe(asJson(before.transcript.messages.slice(0, -1)));
	return { plan, written, kept: count, messages: after.transcript.messages };
}

/** What was read, without the functions that write. */
const asJson = (read: unknown) => JSON.stringify(read);

const saying = ({ role, counted }: Message) => ({ role, text: counted.join("") });

describe.each(requests)("$format.title", (row) => {
	const { write, key, body } = toolsOf(row);
	const documentOf = (...entries: (Entry | readonly Entry[])[]) => deepFreeze({ ...body, [key]: write(...entries) });
	const turns = () => [user("Go."), toolTurn("a", "out")];

	it("appends the partial answer and the request", async () => {
		const { plan, kept, messages } = await followUp(documentOf(...turns()), cut("The files a"));
		expect(plan.report.broken_calls).toBe(0);
		expect(messages.slice(kept).map(saying)).toEqual([
			{ role: "assistant", text: "The files a" },
			{ role: "user", text: request },
		]);
		const places = plan.edits.map(({ path, message }) => ({ path, message }));
		const length = write(...turns()).length;
		const place = { path: `/${key}/${length}`, message: kept };
		expect(places).toEqual([place, place]);
	});

	it("leaves broken calls out", async () => {
		const { plan, kept, messages } = await followUp(documentOf(...turns()), cut("I look.", '{"path":"a.t'));
		expect(plan.report.broken_calls).toBe(1);
		expect(messages.slice(kept).map(saying)).toEqual([
			{ role: "assistant", text: "I look." },
			{ role: "user", text: request },
		]);
		expect(messages.slice(kept).flatMap((message) => message.calls)).toEqual([]);
	});

	it("appends only the request when the answer is empty", async () => {
		for (const last of [turns(), [...turns(), assistant("Done."), user("More.")]]) {
			const { plan, kept, messages } = await followUp(documentOf(...last), cut(" \n", '{"path":"a.t'));
			expect(plan.edits).toHaveLength(1);
			const before = readConversation(documentOf(...last)).transcript.messages;
			if (readConversation(documentOf(...last)).transcript.inTurn && before.at(-1)?.role === "user") {
				expect(plan.edits[0]).toMatchObject({ message: kept - 1 });
				expect(messages).toHaveLength(kept);
				expect(asJson(messages.at(-1)?.results)).toBe(asJson(before.at(-1)?.results));
				expect(messages.at(-1)?.counted).toEqual([...(before.at(-1)?.counted ?? []), request]);
			} else {
				expect(plan.edits[0]).toMatchObject({ path: `/${key}/${write(...last).length}`, message: kept });
				expect(messages.slice(kept).map(saying)).toEqual([{ role: "user", text: request }]);
			}
		}
	});

	it("appends only the request when the conversation contains the answer already", async () => {
		const { plan, kept, messages } = await followUp(
			documentOf(...turns(), assistant("The files a")),
			cut("The files a\n"),
		);
		expect(plan.edits).toHaveLength(1);
		expect(messages.slice(kept).map(saying)).toEqual([{ role: "user", text: request }]);
	});

	it("refuses a conversation that contains the truncated calls", async () => {
		const cutCalls = calls({ id: "b", name: "ls" }, { id: "c", name: "ls" });
		for (const end of [[cutCalls], [cutCalls, results({ id: "b", content: "out" })]]) {
			const document = documentOf(...turns(), ...end);
			await expect(planFor(document, cut("I look.", '{"path":"a.t'))).rejects.toMatchObject({
				code: "invalid_argument",
				message: expect.stringContaining("Pass the conversation without that message."),
			});
			expect((await planFor(document, { finish_reason: "stop", content: "Done." })).report.appended).toBe(false);
		}
	});

	it("changes nothing else", async () => {
		const document = documentOf(system("Be brief."), ...turns());
		const { written } = await followUp(document, cut("The files a"));
		const { [key]: messages, ...rest } = written as Record<string, unknown>;
		const { [key]: before, ...restBefore } = document as Record<string, unknown>;
		expect(rest).toEqual(restBefore);
		(before as unknown[]).forEach((message, index) => {
			expect((messages as unknown[])[index]).toBe(message);
		});
	});
});

describe("a follow-up", () => {
	it("is planned for every request", async () => {
		expect(requests.length).toBeGreaterThanOrEqual(8);
		expect(requests.filter((row) => row.format.write.part).length).toBeGreaterThanOrEqual(2);
	});

	it.each(sessions)("is refused for a recorded session: $format.title", async (row) => {
		const document = toolsOf(row).write(user("Go."), toolTurn("a", "out"));
		for (const response of [cut("The files a"), { finish_reason: "stop", content: "Done." }]) {
			await expect(planFor(document, response)).rejects.toMatchObject({
				code: "invalid_argument",
				message: expect.stringContaining("not with a recorded session"),
			});
		}
	});

	it("is not needed when the answer is complete or has a call that can be run", async () => {
		const document = [{ role: "user", content: "Go." }];
		const whole = '{"path":"a.txt"}';
		const plans: [unknown, object][] = [
			[
				{ finish_reason: "stop", content: "Done." },
				{ why: "not_cut", broken_calls: 0 },
			],
			[
				{ finish_reason: null, content: "Done." },
				{ why: "not_cut", broken_calls: 0 },
			],
			[cut("", whole), { why: "has_usable_call", broken_calls: 0 }],
			[cut("I look.", whole, '{"pa'), { why: "has_usable_call", broken_calls: 1 }],
		];
		for (const [response, plan] of plans)
			expect(await planFor(document, response)).toMatchObject({ edits: [], report: { appended: false, ...plan } });
	});

	it("is worded in each locale", async () => {
		const texts = await Promise.all(
			(["fr", "en", "zh"] as const).map(async (locale) => {
				const plan = await planFor([{ role: "user", content: "Go." }], cut(""), locale);
				return plan.edits.map((edit) => edit.value);
			}),
		);
		expect(texts[0]).toEqual([{ role: "user", content: request }]);
		expect(new Set(texts.map((values) => JSON.stringify(values))).size).toBe(3);
	});

	it("continues after a prefilled answer", async () => {
		const prefilled = [
			{ role: "user", content: "Go." },
			{ role: "assistant", content: "The files" },
		];
		const { messages } = await followUp(prefilled, cut(" a"));
		expect(messages.map(saying)).toEqual([
			{ role: "user", text: "Go." },
			{ role: "assistant", text: "The files" },
			{ role: "assistant", text: " a" },
			{ role: "user", text: request },
		]);
		const blocks = [
			{ role: "user", content: [{ text: "Go." }] },
			{ role: "assistant", content: [{ text: "The files" }] },
		];
		const plan = await planFor(blocks, cut(" a"));
		expect(plan.written).toEqual([
			blocks[0],
			{ role: "assistant", content: [{ text: "The files" }, { text: " a" }] },
			{ role: "user", content: [{ text: request }] },
		]);
	});

	it("recognises the answer next to reasoning", async () => {
		const thinking = { type: "thinking", thinking: "Hm.", signature: "s" };
		const said = {
			role: "assistant",
			content: [thinking, { type: "text", text: "One, " }, { type: "text", text: "two" }],
		};
		expect(await planFor([{ role: "user", content: "Go." }, said], cut("One, two"))).toMatchObject({ edits: [{}] });
		const chat = { role: "assistant", content: "<think>Hm.</think>\n\nOne, two", reasoning_content: "x" };
		expect(await planFor([{ role: "user", content: "Go." }, chat], cut("One, two"))).toMatchObject({ edits: [{}] });
		expect(await planFor([{ role: "user", content: "Go." }, chat], cut("One"))).toMatchObject({ edits: [{}, {}] });
	});

	it("does not mistake another's text, or text next to calls, for the answer", async () => {
		expect(await planFor([{ role: "user", content: "One" }], cut("One"))).toMatchObject({ edits: [{}, {}] });
		const ran = { type: "tool-ls", toolCallId: "a", state: "output-available", input: {}, output: "x" };
		const parts = [{ type: "step-start" }, { type: "text", text: "One" }, ran];
		expect(await planFor([{ id: "m", role: "assistant", parts }], cut("One"))).toMatchObject({ edits: [{}, {}] });
	});

	it("pairs calls without ids by position", async () => {
		const called = { role: "assistant", content: null, function_call: { name: "ls", arguments: "{}" } };
		const answered = { role: "function", name: "ls", content: "x" };
		await expect(planFor([called], cut("One"))).rejects.toThrow("Pass the conversation without that message.");
		expect(await planFor([called, answered], cut("One"))).toMatchObject({ edits: [{}, {}] });
	});

	it("ignores a call that was abandoned before", async () => {
		const called = {
			role: "assistant",
			content: null,
			tool_calls: [{ id: "a", function: { name: "ls", arguments: "{}" } }],
		};
		const document = [called, { role: "user", content: "Never mind." }];
		expect(await planFor(document, cut("One"))).toMatchObject({ edits: [{}, {}] });
	});

	it("is refused after calls if only other calls are answered", async () => {
		const call = (id: string) => ({ id, function: { name: "ls", arguments: "{}" } });
		const called = { role: "assistant", content: null, tool_calls: [call("a"), call("b")] };
		const answered = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });
		const two = (...ids: string[]) => [called, ...ids.map(answered)];
		for (const ids of [["z", "y"], ["a"], ["a", "a"]]) {
			await expect(planFor(two(...ids), cut("One"))).rejects.toThrow("Pass the conversation without that message.");
		}
		expect(await planFor(two("b", "a"), cut("One"))).toMatchObject({ edits: [{}, {}] });
	});

	it("recognises the answer in parts, with the same reasoning between them", async () => {
		const thinking = { type: "thinking", thinking: "Hm.", signature: "s" };
		const said = (text: string) => ({ type: "text", text });
		const content = [said("As far "), thinking, said("as it "), thinking, said("goes")];
		const document = [
			{ role: "user", content: "Go." },
			{ role: "assistant", content },
		];
		const plan = await planFor(document, cut("As far as it goes"));
		expect(plan.edits.map(({ value }) => JSON.stringify(value))).toEqual([expect.stringContaining("[Système]")]);
		expect((await planFor(document, cut("As far as it "))).edits).toHaveLength(2);
	});
});
