import { beforeAll, describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { version } from "../../src/version.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { applyRecords } from "../support/promise-checker.ts";
import { textOfLength } from "../support/sample-text.ts";
import { answerText, type StdioSession, stdioSession } from "../support/stdio-session.ts";

/** The structured content of an answer, which its text must repeat. The SDK's client checks it against the schema. */
async function answerOf(session: StdioSession, name: string, parameters: Record<string, unknown>) {
	const result = await session.call(name, parameters);
	expect(result.isError).toBeUndefined();
	const { context, ...rest } = result.structuredContent as { context?: object };
	// A context report is told in words, on lines before the JSON of the rest.
	const text = answerText(result);
	expect(JSON.parse(context ? text.slice(text.lastIndexOf("\n") + 1) : text)).toEqual(rest);
	return result.structuredContent as { messages: unknown; edits: []; report: Record<string, unknown> };
}

const calls = {
	mask_conversation: { policy: { mask: { window_turns: 3 } } },
	guard_context: { context_window: 6_000, reserve_tokens: 500 },
} as const;

let session: StdioSession;
beforeAll(async () => {
	session = await stdioSession({ inProcess: true, lasts: "file" });
	// From now on the client checks every answer against the tool's schema.
	await session.client.listTools();
});

describe("initialize", () => {
	it("reports the server, its capabilities and a summary of the policy", async () => {
		const { client } = session;
		expect(client.getServerVersion()).toEqual({ name: "palimpsest", title: "Palimpsest", version });
		expect(client.getServerCapabilities()).toEqual({
			tools: {},
			resources: { subscribe: true, listChanged: false },
			completions: {},
			prompts: { listChanged: false },
			logging: {},
		});
		const instructions = client.getInstructions() ?? "";
		expect(Buffer.byteLength(instructions)).toBeLessThan(2_048);
		expect(instructions).toContain("results older than 8 tool turns are masked, errors kept");
		for (const name of ["mask_conversation", "guard_context", "truncate_output", "compact_conversation"])
			expect(instructions).toContain(name);
	});

	it("summarises the policy chosen on the command line", async () => {
		const { client } = await stdioSession({
			inProcess: true,
			parameters: ["--set", "mask.window_turns=3", "--set", "locale=zh"],
		});
		expect(client.getInstructions()).toContain("results older than 3 tool turns are masked");
		expect(client.getInstructions()).toContain("Wording: zh");
	});
});

describe("tools/list", () => {
	it("defines four tools, complete for a host and a model, in under 2 000 tokens", async () => {
		const { client } = session;
		const listed = await client.listTools();
		expect(listed.tools.map((tool) => tool.name)).toEqual([
			"mask_conversation",
			"guard_context",
			"truncate_output",
			"compact_conversation",
		]);
		for (const tool of listed.tools) {
			expect(tool.title).toMatch(/^[A-Z]/);
			expect(tool.description?.length).toBeGreaterThan(80);
			expect(Buffer.byteLength(tool.description ?? "")).toBeLessThan(2_048);
			// A summary is asked of a model, which answers otherwise each time.
			const asksModel = tool.name === "compact_conversation";
			const writes = {
				readOnlyHint: false,
				destructiveHint: true,
				idempotentHint: !asksModel,
				openWorldHint: asksModel,
			};
			const isPure = tool.annotations?.readOnlyHint === true;
			expect(tool.annotations).toEqual(isPure ? { readOnlyHint: true, openWorldHint: false } : writes);
			expect(tool.inputSchema).toMatchObject({
				type: "object",
				properties: { policy: { type: "object" } },
			});
			expect(tool.outputSchema).toMatchObject({ type: "object", required: expect.any(Array) });
		}
		const countTokens = await loadCounter("o200k_base");
		expect(countTokens(JSON.stringify(listed))).toBeLessThan(1_900);
	});
});

describe.each(Object.entries(calls))("%s", (name, parameters) => {
	it("answers with messages, edits or a report, and the edits produce the messages", async () => {
		const messages = agentConversation();
		const respond = (respond_with: string) => answerOf(session, name, { messages, ...parameters, respond_with });
		const [whole, changes, numbers] = [await respond("messages"), await respond("edits"), await respond("report")];
		expect(Object.keys(whole)).toEqual(["messages", "report"]);
		expect(Object.keys(changes)).toEqual(["edits", "report"]);
		expect(Object.keys(numbers)).toEqual(name === "guard_context" ? ["report", "context"] : ["report"]);
		expect(whole.report).toEqual(numbers.report);
		expect(changes.report).toEqual(numbers.report);
		expect(changes.edits.length).toBeGreaterThan(5);
		expect(applyRecords(messages, changes.edits)).toEqual(whole.messages);
		expect(await answerOf(session, name, { messages, ...parameters })).toEqual(whole);
	});

	it("keeps the wrapper and all other fields", async () => {
		const messages = agentConversation();
		const list = await answerOf(session, name, { messages, ...parameters });
		const wrappings = [
			{ temperature: 0.5, model: "gpt-4o", messages, tools: [], metadata: { user: null } },
			{ id: 7, messages, "vendor/x": [[]] },
		];
		for (const document of wrappings) {
			const { messages: answered } = await answerOf(session, name, { messages: document, ...parameters });
			expect(Object.keys(answered as object)).toEqual(Object.keys(document));
			expect(answered).toEqual({ ...document, messages: list.messages });
		}
	});
});

describe("mask_conversation", () => {
	it("counts tool turns and changes only the old results", async () => {
		const messages = agentConversation(10);
		const { messages: masked, report } = await answerOf(session, "mask_conversation", { messages });
		expect(report).toMatchObject({ changed: true, tool_turns: 10, tool_results: 10, masked_tool_results: 2 });
		const differing = (masked as unknown[]).flatMap((message, index) =>
			JSON.stringify(message) === JSON.stringify(messages[index]) ? [] : [index],
		);
		expect(differing).toEqual([3, 5]);
		expect((masked as { content: string }[])[3]?.content).toMatch(
			/^\[Observation masquée: résultat d'outil ancien \(tool_call_id=call_0, outil=read_file, chars=\d+\)\]$/,
		);
	});

	it("applies the policy of a call to that call only", async () => {
		const messages = agentConversation(10);
		const maskedWith = async (policy?: object) => {
			const parameters = { messages, ...(policy === undefined ? {} : { policy }) };
			const { messages: masked, report } = await answerOf(session, "mask_conversation", parameters);
			return [report.masked_tool_results, (masked as { content: string }[])[3]?.content];
		};
		const french = expect.stringContaining("Observation masquée");
		expect(await maskedWith({ mask: { window_turns: 1 } })).toEqual([9, french]);
		expect(await maskedWith({ locale: "zh" })).toEqual([2, "历史 tool_call已隐藏"]);
		expect(await maskedWith({ locale: "en" })).toEqual([2, expect.stringContaining("Observation masked")]);
		expect(await maskedWith({ preset: "tool-result-hiding" })).toEqual([5, "历史 tool_call已隐藏"]);
		expect((await maskedWith({ preset: "context-guard" }))[0]).toBe(0);
		expect(await maskedWith()).toEqual([2, french]);
	});

	it("applies the policy of a call over the server's policy", async () => {
		const session = await stdioSession({
			inProcess: true,
			parameters: ["--set", "locale=en", "--set", "mask.window_turns=3"],
		});
		const parameters = { messages: agentConversation(10), policy: { mask: { window_turns: 1 } } };
		const { messages, report } = await answerOf(session, "mask_conversation", parameters);
		expect(report.masked_tool_results).toBe(9);
		expect((messages as { content: string }[])[3]?.content).toContain("Observation masked");
	});
});

describe("guard_context", () => {
	it("reports whether it fits, by how much it exceeds, and the largest parts", async () => {
		const parameters = { messages: agentConversation(), respond_with: "report" };
		const { report: fitting } = await answerOf(session, "guard_context", { ...parameters, model: "gpt-4o" });
		expect(fitting).toMatchObject({ fits: true, context_window: 128_000, shortfall_tokens: 0, changed: false });
		const { report } = await answerOf(session, "guard_context", { ...parameters, context_window: 8_193 });
		expect(report).toMatchObject({ fits: false, budget_tokens: 1, reserve_tokens: 8_192 });
		expect(report.shortfall_tokens).toBe((report.tokens as { after: number }).after - 1);
		expect(report.largest).toContainEqual(expect.objectContaining({ role: "tool", tools: ["read_file"] }));
	});
});

describe("truncate_output", () => {
	it("keeps head and tail, and leaves a short text unchanged", async () => {
		const cut = async (parameters: Record<string, unknown>) => {
			const result = await session.call("truncate_output", parameters);
			expect(JSON.parse(answerText(result))).toEqual(result.structuredContent);
			return result.structuredContent as Record<string, unknown>;
		};
		const text = textOfLength(50_001);
		expect(await cut({ text: text.slice(1) })).toMatchObject({
			text: text.slice(1),
			truncated: false,
			omitted_chars: 0,
		});
		expect(await cut({ text })).toMatchObject({
			text: `${text.slice(0, 2_000)}\n\n[... 46001 caractères omis ...]\n\n${text.slice(-2_000)}`,
			truncated: true,
			omitted_chars: 46_001,
			omitted: { start: 2_000, end: 48_001 },
			chars: { before: 50_001, after: 4_035 },
		});
		const policy = { locale: "en", truncate: { head_chars: 10, tail_chars: 5 } };
		expect(await cut({ text, max_chars: 100, policy })).toMatchObject({
			text: `${text.slice(0, 10)}\n\n... [49986 characters truncated] ...\n\n${text.slice(-5)}`,
		});
	});
});
