import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { answer, type Behaviour, refuse, startChatServer } from "../operations/summariser/chat-server.ts";
import { usualSummary } from "../support/compaction-on-demand.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

type Json = Readonly<Record<string, unknown>>;

const key = "sk-ant-a-key-that-nobody-may-see-4711";

/** A request body of the Messages API with tool turns, spelled as no other program would. */
function body(turns = 20): Json & { readonly messages: readonly Json[] } {
	const messages: Json[] = [{ role: "user", content: "Read the files. Never touch the migrations." }];
	for (let turn = 0; turn < turns; turn += 1) {
		const id = `toolu_${turn}`;
		messages.push(
			{ role: "assistant", content: [{ type: "tool_use", id, name: "Read", input: { path: `f${turn}` } }] },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: `fact ${turn}\n`.repeat(100) }] },
		);
	}
	return { model: "claude-opus-5", max_tokens: 4_096, tools: [{ name: "Read" }], messages };
}

/** The API of the page: one signed block. */
const summarise: Behaviour = (response, { body: sent }) => {
	const content = usualSummary(sent);
	const block = { type: "compaction", content, signature: "c2ln" };
	answer(200, { role: "assistant", content: [block], stop_reason: "compaction" })(response, {} as never);
};

async function compact(
	behaviours: readonly Behaviour[],
	parameters: readonly string[] = [],
	conversation: unknown = body(),
) {
	const server = await startChatServer(...behaviours);
	const folder = await scratchFolder();
	const environment = { PALIMPSEST_LLM_URL: server.baseUrl, PALIMPSEST_LLM_KEY: key, PALIMPSEST_ARCHIVE: "" };
	const text = typeof conversation === "string" ? conversation : JSON.stringify(conversation, null, 1);
	await writeFile(join(folder, "chat.json"), text);
	const archive = ["--archive", join(folder, "archive")];
	const settings = ["--strategy", "provider", "--force", "--set", "locale=en", ...archive, ...parameters];
	const run = await runHere(["compact", "chat.json", ...settings], { folder, environment });
	expect(run.text + run.lines.join("\n")).not.toContain(key);
	return { ...run, server, folder, archive, original: text };
}

describe("palimpsest compact --strategy provider", () => {
	it("sends the request itself, with the key of the environment, and puts the block in", async () => {
		const { code, text, server, lines } = await compact([summarise]);
		expect(code).toBe(0);
		const [{ url, headers, body: sent }] = server.requests as unknown as [{ url: string; headers: Json; body: Json }];
		expect(url).toBe("/v1/messages");
		expect(headers).toMatchObject({
			"x-api-key": key,
			"anthropic-beta": "compact-2026-09-04",
			"anthropic-version": "2023-06-01",
		});
		expect(headers.authorization).toBeUndefined();
		expect(sent).toMatchObject({ model: "claude-opus-5", compaction: { type: "summarize" } });
		const { messages, ...rest } = JSON.parse(text) as ReturnType<typeof body>;
		expect(messages[0]).toMatchObject({ role: "assistant", content: [{ type: "compaction", signature: "c2ln" }] });
		expect(messages.slice(1)).toEqual(body().messages.slice((sent.messages as Json[]).length));
		expect({ ...rest, messages: body().messages }).toEqual(body());
		expect(lines.at(-1)).toMatch(/^palimpsest: summarised: \d+ → \d+ tokens/);
	});

	it("is compacted again with what came since, and each original is named and recalled as it was", async () => {
		const { text, folder, archive } = await compact([summarise]);
		const once = JSON.parse(text) as ReturnType<typeof body>;
		const longer = { ...once, messages: [...once.messages, ...body(30).messages.slice(41)] };
		const server = await startChatServer(summarise);
		await writeFile(join(folder, "longer.json"), JSON.stringify(longer));
		const settings = ["--strategy", "provider", "--force", "--set", "locale=en", ...archive];
		const environment = { PALIMPSEST_LLM_URL: server.baseUrl, PALIMPSEST_LLM_KEY: key };
		const twice = await runHere(["compact", "longer.json", ...settings], { folder, environment });
		await writeFile(join(folder, "twice.json"), twice.text);
		const recalled = async (file: string) => {
			const put = await runHere(["restore", file, ...archive], { folder });
			const [, ref = ""] = /summar\w+[^\n]*?\b([a-z2-7]{12})\b/.exec(put.lines.join("\n")) ?? [];
			expect([put.code, ref]).toEqual([1, expect.stringMatching(/\w{12}/)]);
			return JSON.parse((await runHere(["recall", ref, "--all", ...archive], { folder })).text) as Json[];
		};
		const second = await recalled("twice.json");
		expect(second).toEqual(longer.messages.slice(0, second.length));
		await writeFile(join(folder, "once.json"), text);
		const first = await recalled("once.json");
		expect([...first, ...once.messages.slice(1)]).toEqual(body().messages);
	});

	it.each([
		[401, "auth_error", 1],
		[400, "unknown", 1],
		[404, "model_not_found", 1],
		[529, "server_error", 4],
	] as const)("prints nothing after HTTP %i, and says why", async (status, code, requests) => {
		const refusal = refuse(status, { "retry-after": "0.01" });
		const run = await compact([refusal]);
		expect([run.code, run.text]).toEqual([1, ""]);
		expect(run.lines.at(-1)).toContain(`[${code}]`);
		expect(run.server.requests).toHaveLength(requests);
		expect(await readFile(join(run.folder, "chat.json"), "utf8")).toBe(run.original);
	});

	it.each(["refusal", "max_tokens", "tool_use", "model_context_window_exceeded"])(
		"prints nothing where the answer ends with %s",
		async (reason) => {
			const run = await compact([answer(200, { role: "assistant", content: [], stop_reason: reason })]);
			expect([run.code, run.text]).toEqual([1, ""]);
			expect(run.lines.at(-1)).toContain(`[summary_refused]`);
			expect(run.lines.at(-1)).toContain(`(${reason})`);
		},
	);

	it.each([
		["no JSON", answer(200, "<html>"), "[unknown]"],
		["no block", answer(200, { stop_reason: "compaction", content: [] }), "[summary_refused]"],
		[
			"an error with a good status",
			answer(200, { type: "error", error: { type: "overloaded_error" } }),
			"[summary_refused]",
		],
	] as const)("prints nothing for an answer with %s", async (_, behaviour, code) => {
		const run = await compact([behaviour]);
		expect([run.code, run.text]).toEqual([1, ""]);
		expect(run.lines.at(-1)).toContain(code);
	});

	it("asks nobody for other formats and older models, and names what is missing without an endpoint", async () => {
		const chat = [
			{ role: "user", content: "Hello" },
			{ role: "assistant", tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }] },
			{ role: "tool", tool_call_id: "a", content: "x" },
		];
		for (const [conversation, words] of [
			[chat, "Messages API"],
			[{ ...body(), model: "claude-opus-4-1" }, "model_without_compaction"],
			[body().messages, "model_not_named"],
		] as const) {
			const run = await compact([summarise], [], conversation);
			expect([run.code, run.text, run.server.requests]).toEqual([1, "", []]);
			expect(run.lines.at(-1)).toContain(words);
		}
		const folder = await scratchFolder();
		const input = JSON.stringify(body());
		const none = await runHere(["compact", "-", "--strategy", "provider", "--force"], { folder, input });
		expect([none.code, none.text]).toEqual([1, ""]);
		expect(none.lines.at(-1)).toMatch(/PALIMPSEST_LLM_URL/);
	});
});
