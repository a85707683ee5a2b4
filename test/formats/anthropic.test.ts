import { describe, expect, it } from "vitest";
import { managedAgents, mcpSampling } from "../../src/formats/anthropic.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { pdfOf, pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, type JsonMessage, results, toolTurn, user, writeMessages } from "../support/script.ts";

const write = (id: string) => writeMessages("anthropic-messages", toolTurn(id, outputOf(id)));

const summary = { type: "compaction", content: "So far: two files were read." };

const [call, answer] = write("c");

const before = [...writeMessages("anthropic-messages", [user("Go.")]), ...write("a"), ...write("b")];

const compacted = [
	...before,
	{ role: "assistant", content: [summary, { type: "text", text: "Next." }, ...((call?.content ?? []) as unknown[])] },
	answer,
	...write("d"),
	...write("e"),
];

describe("compaction blocks of the Messages API", () => {
	it("messages before the last one cost nothing, and the block is kept like a system message", () => {
		const { format, transcript } = readConversation(compacted);
		expect(format.name).toBe("anthropic-messages");
		expect(transcript.messages.map(({ sent }) => sent !== false)).toEqual([
			...before.map(() => false),
			...Array.from({ length: 7 }, () => true),
		]);
		expect(transcript.messages.slice(5, 7)).toMatchObject([
			{ role: "system", paths: [[5, "content", 0]], counted: [summary.content] },
			{
				role: "assistant",
				paths: [
					[5, "content", 1],
					[5, "content", 2],
				],
				calls: [{ id: "c" }],
			},
		]);
	});

	it("the guard drops messages after it but never the block", async () => {
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0, pin_task: false } });
		const outcome = await guardConversation({ conversation: compacted, policy, contextWindow: 700 });
		expect(outcome.report).toMatchObject({ fits: true });
		expect(outcome.conversation).toEqual([
			...before,
			{ role: "assistant", content: [summary] },
			...compacted.slice(-2),
		]);
	});

	it("old results before it are masked as usual", async () => {
		const policy = policyOf({ mask: { window_turns: 1 } });
		const masked = async (conversation: unknown[]) => (await maskConversation({ conversation, policy })).edits;
		const earlier = await masked(before);
		expect(earlier).toHaveLength(1);
		expect(await masked(compacted)).toEqual(expect.arrayContaining([...earlier]));
	});

	it.each([
		["alone", [summary], 1],
		[
			"that failed",
			[
				{ type: "compaction", content: null },
				{ type: "text", text: "Next." },
			],
			1,
		],
	])("one %s is one message", (_, content, count) => {
		const { messages } = readConversation([{ role: "assistant", content }]).transcript;
		expect(messages).toHaveLength(count);
		expect(messages[0]?.paths).toEqual([[0]]);
	});
});

const image = (data: string) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } });

const documentOf = (source: object, more = {}) => ({ type: "document", source, ...more });

const pdf = { type: "base64", media_type: "application/pdf", data: pdfOf(2) };

const plain = { type: "text", media_type: "text/plain", data: outputOf("plain") };

const blocks = {
	type: "content",
	content: [{ type: "text", text: outputOf("blocks") }, image(pngOf(750, 100))],
};

const conversationOf = (...content: unknown[]) =>
	writeMessages("anthropic-messages", [...toolTurn("a", content, "fetch"), ...toolTurn("b", "ok")]);

const mask = (conversation: unknown) =>
	maskConversation({ conversation, policy: policyOf({ locale: "en", media: "mask", mask: { window_turns: 1 } }) });

describe("media in Anthropic Messages", () => {
	it.each([
		["an image", image(pngOf(1_000, 1_000)), 1_334, []],
		["an image by URL", { type: "image", source: { type: "url", url: "https://example.com/a.png" } }, 1_600, []],
		["an image by file id", { type: "image", source: { type: "file", file_id: "file_1" } }, 1_600, []],
		["a PDF", documentOf(pdf), 6_000, []],
		["a PDF by URL", documentOf({ type: "url", url: "https://example.com/a.pdf" }), 30_000, []],
		["a document by file id", documentOf({ type: "file", file_id: "file_1" }), 30_000, []],
		["a document of plain text", documentOf(plain), 0, [plain.data]],
		["a document of blocks", documentOf(blocks), 100, [outputOf("blocks")]],
		["a document of one text", documentOf({ type: "content", content: "All of it." }), 0, ["All of it."]],
		["its title and context", documentOf(plain, { title: "A title", context: "From a page." }), 5, [plain.data]],
	])("counts %s, in a user message and in a result", (_, block, mediaTokens, texts) => {
		const inMessage = [{ role: "user", content: [block] }, ...conversationOf("x")];
		expect(readConversation(inMessage).transcript.messages[0]).toMatchObject({ mediaTokens, counted: texts });
		const message = readConversation(conversationOf(block)).transcript.messages[1];
		expect(message).toMatchObject({ mediaTokens, counted: [] });
		expect(message?.results[0]?.texts.map(({ text }) => text)).toEqual(texts);
		expect(message?.results[0]?.media).toHaveLength(1);
	});

	it("masks documents in results with their texts; texts next to them stay", async () => {
		const text = { type: "text", text: outputOf("beside") };
		const conversation = conversationOf(text, documentOf(pdf), documentOf(plain), documentOf(blocks));
		const { conversation: after, report, edits, error } = await mask(conversation);
		expect(error).toBeUndefined();
		const [result] = (after as { content: { content: unknown[] }[] }[])[1]?.content ?? [];
		expect(result?.content).toEqual([
			text,
			{ type: "text", text: expect.stringMatching(/^\[Media masked: application\/pdf, \d+ B \(/) },
			{ type: "text", text: expect.stringMatching(/^\[Media masked: text\/plain, \d+ B \(/) },
			{ type: "text", text: expect.stringMatching(/^\[Media masked: document \(/) },
		]);
		expect(edits.map(({ before }) => before.chars)).toEqual([0, outputOf("plain").length, outputOf("blocks").length]);
		const again = await mask(after);
		expect(again.conversation).toBe(after);
		expect(again.report.tokens.before).toBe(report.tokens.after);
		expect(again.report.chars.before).toBe(report.chars.after);
		expect(again.report.tool_chars.before).toBe(report.tool_chars.after);
	});

	it("never touches media in user messages", async () => {
		const user = { role: "user", content: [image(pngOf(1_000, 1_000)), documentOf(pdf), documentOf(plain)] };
		const conversation = [user, ...conversationOf(image(pngOf(1_000, 1_000))), user];
		const { conversation: after, edits } = await mask(conversation);
		expect(edits.map(({ path }) => path)).toEqual(["/2/content/0/content/0"]);
		expect((after as unknown[])[0]).toBe(user);
		expect((after as unknown[]).at(-1)).toBe(user);
	});

	it("keeps an image that costs less than its placeholder", async () => {
		const conversation = conversationOf(image(pngOf(20, 20)));
		const { conversation: after, report } = await mask(conversation);
		expect(after).toBe(conversation);
		expect(report.kept.not_smaller).toBe(1);
	});

	it("keeps a breakpoint of the prompt cache in its place", async () => {
		const cached = { ...image(pngOf(1_000, 1_000)), cache_control: { type: "ephemeral" } };
		const { edits } = await mask(conversationOf(cached));
		expect(edits[0]?.replacement).toMatchObject({ type: "text", cache_control: { type: "ephemeral" } });
	});

	it("the guard cuts the text of a document, and a smaller placeholder replaces it", async () => {
		const long = documentOf({ ...plain, data: outputOf("long", 500) });
		const conversation = conversationOf(long);
		const guard = { max_tool_result_chars: 1_000, truncate_head_chars: 400, truncate_tail_chars: 400 };
		const cut = await guardConversation({ conversation, policy: policyOf({ guard }), contextWindow: 100_000 });
		expect(cut.edits.map(({ path }) => path)).toEqual(["/1/content/0/content/0/source/data"]);
		const policy = policyOf({ media: "mask", mask: { window_turns: 1 }, guard: { ...guard, reserve_tokens: 0 } });
		const masked = await guardConversation({ conversation, policy, contextWindow: 50 });
		expect(masked.error).toBeUndefined();
		expect(masked.edits.map(({ path, reason }) => [path, reason])).toEqual([["/1/content/0/content/0", "mask"]]);
		expect(masked.report.tool_chars.after).toBeGreaterThan(0);
	});

	it.each([[null], ["x"], [{}], [{ type: "base64" }], [{ type: "text" }], [{ type: "content", content: 7 }]])(
		"reads a document with the source %j",
		(source) => {
			const { transcript } = readConversation(conversationOf({ type: "document", source }, { type: "image", source }));
			expect(transcript.messages[1]?.mediaTokens).toBeGreaterThanOrEqual(0);
		},
	);
});

const blocksOf = (message: JsonMessage | undefined) => (message?.content ?? []) as unknown[];

const thinking = { type: "thinking", thinking: "Let me look.", signature: "c2lnbmF0dXJl" };

const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" };

describe("Anthropic Messages", () => {
	it("thinking blocks are counted without their signature and never changed", async () => {
		const [call, result] = writeMessages("anthropic-messages", toolTurn("a", outputOf("a")));
		const thoughtful = { role: "assistant", content: [thinking, redacted, ...blocksOf(call)] };
		const conversation = [thoughtful, result, ...writeMessages("anthropic-messages", toolTurn("b", "ok"))];
		const { transcript } = readConversation(conversation);
		expect(transcript.messages[0]?.counted).toContain("Let me look.");
		expect(JSON.stringify(transcript.messages[0]?.counted)).not.toContain("c2lnbmF0dXJl");
		const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) });
		expect(outcome.report.masked_tool_results).toBe(1);
		expect((outcome.conversation as unknown[])[0]).toBe(thoughtful);
	});

	it("several results in one message are masked separately; a text next to them stays", async () => {
		const [call, answer] = writeMessages("anthropic-messages", [
			calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
			results({ id: "a", content: outputOf("a") }, { id: "b", content: `Traceback ${outputOf("b")}` }),
		]);
		const beside = { type: "text", text: outputOf("a word of the user") };
		const mixed = { ...answer, content: [beside, ...blocksOf(answer)] };
		const conversation = [call, mixed, ...writeMessages("anthropic-messages", toolTurn("c", "ok"))];
		const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) });
		const after = (outcome.conversation as { content: unknown[] }[])[1];
		expect(after?.content[0]).toBe(beside);
		expect(after?.content[2]).toBe(mixed.content[2]);
		expect(resultContents(outcome.conversation, "anthropic-messages")[0]).toMatch(/^\[Observation masquée/);
		expect(outcome.edits.map(({ path }) => path)).toEqual(["/1/content/1/content"]);
	});

	it("the first user message always stays, since the API requires one first", async () => {
		const conversation = writeMessages("anthropic-messages", [
			user("Task."),
			...toolTurn("a", outputOf("a")),
			...toolTurn("b", "ok"),
		]);
		const policy = policyOf({ guard: { pin_task: false } });
		const outcome = await guardConversation({ conversation, policy, contextWindow: 8_193 });
		expect((outcome.conversation as unknown[])[0]).toBe(conversation[0]);
	});

	it("counts results of server tools: texts exactly, encrypted data and media by estimate", () => {
		const sealed = Buffer.from(outputOf("page")).toString("base64");
		const found = { type: "web_search_result", url: "https://example.org", title: "T", encrypted_content: sealed };
		const fetched = (source: object) => ({ type: "web_fetch_result", content: { type: "document", source } });
		const costs = (type: string, content: unknown) => {
			const block = { type, tool_use_id: "s", content };
			const [message] = readConversation([{ role: "assistant", content: [block] }]).transcript.messages;
			expect(message?.results).toEqual([]);
			return { text: message?.counted.join("") ?? "", tokens: message?.mediaTokens ?? 0 };
		};
		const search = costs("web_search_tool_result", [found, found]);
		expect(search.text).not.toContain(sealed);
		expect(search.tokens).toBe(2 * Math.ceil(JSON.stringify(found).length / 4));
		const pdf = costs(
			"web_fetch_tool_result",
			fetched({ type: "base64", media_type: "application/pdf", data: sealed }),
		);
		expect(pdf.text).not.toContain(sealed);
		expect(pdf.tokens).toBe(3_000);
		const page = fetched({ type: "text", media_type: "text/plain", data: outputOf("page") });
		expect(costs("web_fetch_tool_result", page)).toEqual({
			text: expect.stringContaining(outputOf("page")),
			tokens: 0,
		});
		const run = { type: "bash_code_execution_result", stdout: outputOf("run"), stderr: "" };
		expect(costs("bash_code_execution_tool_result", run).text).toContain(outputOf("run"));
	});

	it("blocks of server tools are opaque: counted, never paired or edited", () => {
		const content = [
			{ type: "server_tool_use", id: "s", name: "web_search", input: {} },
			{ type: "web_search_tool_result", tool_use_id: "s", content: [] },
		];
		const [message] = readConversation([{ role: "assistant", content }]).transcript.messages;
		expect(message).toMatchObject({ calls: [], results: [] });
		expect(message?.counted).toEqual(content.map((block) => JSON.stringify(block)));
	});

	it("a system prompt next to the messages indicates this format", () => {
		const document = { system: "Be brief.", messages: [{ role: "user", content: "Hello" }] };
		expect(readConversation(document).format.name).toBe("anthropic-messages");
	});

	it("a message with null content does not make the others unreadable", () => {
		const messages = writeMessages("anthropic-messages", [...toolTurn("a", "x")]);
		const { format, transcript } = readConversation([{ role: "user", content: null }, ...messages]);
		expect(format.name).toBe("anthropic-messages");
		expect(transcript.messages[0]?.counted.join("")).toBe("");
	});
});

const masking = policyOf({ mask: { window_turns: 1 } });
const texts = (text: string) => [{ type: "text", text }];
const event = (type: string, more: object = {}) => ({ type, ...more });
const turn = (id: string, call = "agent.tool_use", result = "agent.tool_result", key = "tool_use_id") => [
	event("span.model_request_start"),
	event("agent.thinking"),
	event("agent.message", { content: texts("Let me see.") }),
	event(call, { id, name: "bash", input: { command: "ls" } }),
	event("span.model_request_end", { model_usage: { input_tokens: 10, cache_read_input_tokens: 80 } }),
	event(result, { id: `sevt_r${id}`, [key]: id, content: texts(outputOf(id)), is_error: false }),
];
const opening = event("user.define_outcome", { description: "Look.", rubric: { type: "text", content: "All." } });
const session = [
	event("session.status_running", { id: "sevt_1" }),
	opening,
	...turn("sevt_a"),
	...turn("sevt_b", "agent.mcp_tool_use", "agent.mcp_tool_result", "mcp_tool_use_id"),
	...turn("sevt_c", "agent.custom_tool_use", "user.custom_tool_result", "custom_tool_use_id"),
];

describe("Claude Managed Agents sessions", () => {
	it("reads tools of each kind, and the usage that comes after an answer", () => {
		const { format, transcript } = readConversation(session);
		expect(format).toBe(managedAgents);
		expect(transcript.messages.map(({ role }) => role)).toEqual([
			"user",
			...Array(3).fill(["assistant", "tool"]).flat(),
		]);
		expect(transcript.messages[1]).toMatchObject({
			calls: [{ id: "sevt_a", name: "bash" }],
			usage: { inputTokens: 90 },
		});
		expect(transcript.messages.flatMap(({ results }) => results.map(({ callId }) => callId))).toEqual([
			"sevt_a",
			"sevt_b",
			"sevt_c",
		]);
	});

	it("reads pages of the API, and records that hold an event in `raw`; masks both copies there", async () => {
		expect(readConversation({ data: session, next_page: null }).transcript.messages).toHaveLength(7);
		const records = session.map((raw) => {
			const [first] = "content" in raw ? (raw.content as { text: string }[]) : [];
			return { role: "agent", kind: raw.type.split(".")[1], ...(first ? { content: first.text } : {}), raw };
		});
		expect(readConversation(records).format).toBe(managedAgents);
		const { conversation, report, error } = await maskConversation({ conversation: records, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(2);
		expect(JSON.stringify(conversation)).not.toContain(JSON.stringify(outputOf("sevt_a")));
	});

	it("sends nothing from before the last compaction, and masks it as before", async () => {
		const conversation = [...session, event("agent.thread_context_compacted", { id: "sevt_x" }), ...turn("sevt_d")];
		const { messages } = readConversation(conversation).transcript;
		expect(messages.filter(({ sent }) => sent !== false)).toHaveLength(2);
		expect((await maskConversation({ conversation, policy: masking })).report.masked_tool_results).toBe(3);
	});
});

describe("mcp sampling", () => {
	const use = (id: string) => ({ type: "tool_use", id, name: "ls", input: {} });
	const answer = (id: string, more: object = {}) => ({
		type: "tool_result",
		toolUseId: id,
		content: [{ type: "text", text: outputOf(id) }],
		...more,
	});
	const user = (content: unknown) => ({ role: "user", content });
	const assistant = (content: unknown) => ({ role: "assistant", content });
	const fitOf = (...messages: unknown[]) => mcpSampling.probe(locateMessages(messages)).fit;

	describe("MCP sampling messages", () => {
		it("wins over Anthropic Messages when a result names its call by `toolUseId`", () => {
			const text = [{ type: "text", text: "Go." }];
			expect(readConversation([user(text), assistant([use("a")]), user([answer("a")])]).format).toBe(mcpSampling);
			expect(readConversation([user(text), assistant([use("a")])]).format.name).toBe("anthropic-messages");
		});

		it("reads calls and results that are the only block of their message", () => {
			const { messages } = readConversation([assistant(use("a")), user(answer("a"))]).transcript;
			expect(messages[0]?.calls).toEqual([{ id: "a", name: "ls" }]);
			expect(messages[1]?.results[0]).toMatchObject({ callId: "a", whole: { path: [1, "content", "content"] } });
		});

		it("does not mask a result with structured content, but can cut its long strings", async () => {
			const structuredContent = { lines: 3, output: outputOf("structured") };
			const conversation = [
				assistant([use("a")]),
				user([answer("a", { structuredContent })]),
				assistant([use("b")]),
				user([answer("b")]),
			];
			const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { window_turns: 1 } }) });
			expect(outcome.conversation).toBe(conversation);
			expect(outcome.report.kept.not_text).toBe(1);
			const result = readConversation(conversation).transcript.messages[1];
			expect(result?.results[0]?.texts.map(({ path }) => path.slice(3))).toEqual([
				["content", 0, "text"],
				["structuredContent", "output"],
			]);
			expect(result?.counted).toEqual(['{"lines":3,"output":""}']);
		});

		it("reads images, recordings and embedded resources", () => {
			const text = outputOf("resource");
			const content = [
				{ type: "image", data: "AAAA", mimeType: "image/png" },
				{ type: "audio", data: "AAAA", mimeType: "audio/wav" },
				{ type: "resource", resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: "AAAA" } },
				{ type: "resource", resource: { uri: "file:///a.txt", text } },
				{ type: "resource_link", uri: "file:///b.txt", name: "b" },
			];
			const [message] = readConversation([user([answer("a", { content })])]).transcript.messages;
			const [result] = message?.results ?? [];
			expect(result?.media.map(({ kind }) => kind)).toEqual(["image", "audio", "document"]);
			expect(result?.texts).toEqual([{ path: [0, "content", 0, "content", 3, "resource", "text"], text }]);
			expect(message?.counted.join("")).not.toContain("AAAA");
			expect(message?.counted.join("")).toContain("file:///b.txt");
		});

		it("counts media outside of results", () => {
			const [message] = readConversation([user({ type: "image", data: "AAAA", mimeType: "image/png" })]).transcript
				.messages;
			expect(message?.mediaTokens).toBeGreaterThan(200);
		});

		it("does not match messages of other formats", () => {
			const own = user({ type: "text", text: "x" });
			expect(fitOf(own)).toBe("certain");
			for (const content of [
				"x",
				null,
				undefined,
				["x"],
				[{ type: "thinking" }],
				[{ type: "tool_result", tool_use_id: "a" }],
				[{ type: "image", source: { type: "base64" } }],
				{ text: "x" },
			]) {
				expect(mcpSampling.probe(locateMessages([own, user(content)]))).toMatchObject({ fit: "none", message: 1 });
			}
		});
	});
});
