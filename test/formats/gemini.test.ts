import { describe, expect, it } from "vitest";
import { pairResults, toolTurns } from "../../src/engine/conversation/turns.ts";
import { excerptWordings } from "../../src/engine/policy/wordings.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation } from "../../src/storage/restore/restore.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });

const read = (...contents: unknown[]) => readConversation(contents).transcript;
const user = (text: string) => ({ role: "user", parts: [{ text }] });
const model = (...parts: unknown[]) => ({ role: "model", parts });
const call = (name: string, id?: string) => ({ functionCall: { ...(id ? { id } : {}), name, args: {} } });
const answer = (name: string, text: string, id?: string) => ({
	functionResponse: { ...(id ? { id } : {}), name, response: { output: text } },
});
const answers = (...parts: unknown[]) => ({ role: "user", parts });
const pairs = (...contents: unknown[]) =>
	pairResults(read(...contents)).map(({ result, call, caller }) => [result.texts[0]?.text, caller, call?.id]);

describe("Google Gemini: pairing by position", () => {
	it("pairs without ids, by name and order within the turn", () => {
		expect(
			pairs(
				model(call("ls"), call("cat"), call("ls")),
				answers(answer("ls", "1"), answer("ls", "2"), answer("cat", "3")),
				model(call("ls")),
				answers(answer("ls", "4")),
			),
		).toEqual([
			["1", 0, "ls#1"],
			["2", 0, "ls#2"],
			["3", 0, "cat#1"],
			["4", 2, "ls#1"],
		]);
	});

	it("pairs by the id of one side when only one has it", () => {
		expect(pairs(model(call("ls")), answers(answer("ls", "1", "ls-7")))).toEqual([["1", 0, "ls-7"]]);
		expect(pairs(model(call("ls", "c-1")), answers(answer("ls", "1")))).toEqual([["1", 0, "c-1"]]);
	});

	it("pairs by the ids of both sides in any order", () => {
		expect(
			pairs(model(call("ls", "a"), call("ls", "b")), answers(answer("ls", "B", "b"), answer("ls", "A", "a"))),
		).toEqual([
			["B", 0, "b"],
			["A", 0, "a"],
		]);
	});

	it("leaves orphans: another name, another id, an earlier turn, one answer too many", () => {
		expect(
			pairs(
				model(call("cat")),
				model(call("ls"), call("grep", "g")),
				answers(answer("cat", "1"), answer("grep", "2", "h"), answer("ls", "3"), answer("ls", "4")),
			),
		).toEqual([
			["1", undefined, undefined],
			["2", undefined, undefined],
			["3", 1, "ls#1"],
			["4", undefined, undefined],
		]);
	});

	it("uses the response's own id, or the tool's name and number, in the placeholder", async () => {
		const contents = [
			user("Go."),
			model(call("ls"), call("cat")),
			answers(answer("ls", outputOf("ls"), "ls-17"), answer("cat", outputOf("cat"))),
			model(call("ls")),
			answers(answer("ls", "ok")),
		];
		const { edits, error } = await maskConversation({ conversation: contents, policy: masking });
		expect(error).toBeUndefined();
		expect(edits.map(({ path, tool_call_id }) => [path, tool_call_id])).toEqual([
			["/2/parts/0/functionResponse/response/output", "ls-17"],
			["/2/parts/1/functionResponse/response/output", "cat#1"],
		]);
		expect(edits[1]?.replacement).toContain("tool_call_id=cat#1, outil=cat,");
	});

	it("an unanswered call is a turn too, and ids stay when others are dropped", async () => {
		const contents = [
			user("Go."),
			model(call("ls")),
			user("Stop."),
			...["a", "b", "c"].flatMap((name) => [
				model(call("ls"), call("ls")),
				answers(answer("ls", name), answer("ls", outputOf(name))),
			]),
		];
		expect(toolTurns(read(...contents))).toEqual([1, 3, 5, 7]);
		const policy = policyOf({ guard: { reserve_tokens: 0, ladder: ["drop"] } });
		const outcome = await guardConversation({ conversation: contents, policy, contextWindow: 700 });
		expect(outcome.error).toBeUndefined();
		expect(outcome.conversation).toEqual([contents[0], ...contents.slice(-2)]);
	});
});

describe("Google Gemini: parts", () => {
	it("reads snake_case too", async () => {
		const contents = [
			user("Go."),
			model({ function_call: { name: "ls", args: {} }, thought_signature: "c2ln" }),
			answers({ function_response: { name: "ls", response: { result: outputOf("ls") } } }),
			model({ function_call: { name: "ls", args: {} } }),
			answers(
				{ inline_data: { mime_type: "image/png", data: "AAAA" } },
				{ file_data: { file_uri: "gs://b/v.mp4", mime_type: "video/mp4" } },
			),
		];
		const { edits } = await maskConversation({ conversation: contents, policy: masking });
		expect(edits.map(({ path }) => path)).toEqual(["/2/parts/0/function_response/response/result"]);
		const { messages } = read(...contents);
		expect(messages[4]?.mediaTokens).toBeGreaterThan(1_000);
		expect(messages[4]?.counted).toEqual([]);
	});

	it("counts thoughts but no signatures, and edits neither", async () => {
		const thought = { text: "Let me look.", thought: true, thoughtSignature: "c2lnbmF0dXJl" };
		const signed = { ...call("ls"), thoughtSignature: "c2lnbmF0dXJl" };
		const contents = [
			user("Go."),
			model(thought, signed, { thoughtSignature: "c2lnbmF0dXJl" }),
			answers(answer("ls", outputOf("ls"))),
			model(call("ls")),
			answers(answer("ls", "ok")),
		];
		const [, message] = read(...contents).messages;
		expect(message?.counted).toContain("Let me look.");
		expect(JSON.stringify(message?.counted)).not.toContain("c2ln");
		expect(message?.thinking).toEqual([
			{ path: [1, "parts", 0], text: "Let me look.", bound: true },
			{ path: [1, "parts", 1], text: "", bound: true, fixed: true },
			{ path: [1, "parts", 2], text: "", bound: true, fixed: true },
		]);
		const outcome = await maskConversation({ conversation: contents, policy: masking });
		expect((outcome.conversation as unknown[])[1]).toBe(contents[1]);
	});

	it("code that the API runs is opaque", () => {
		const parts = [
			{ executableCode: { language: "PYTHON", code: "print(1)" } },
			{ codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
		];
		const [message] = read(model(...parts)).messages;
		expect(message).toMatchObject({ calls: [], results: [] });
		expect(message?.counted).toEqual(parts.map((part) => JSON.stringify(part)));
	});

	it("an `error` in a response is the API's own flag, unless it is empty", () => {
		const failed = (response: unknown) =>
			pairResults(read(model(call("ls")), answers({ functionResponse: { name: "ls", response } })))[0]?.result;
		expect(failed({ error: "No such file." })?.isError).toBe(true);
		expect(failed({ error: { code: 5 }, output: "" })?.isError).toBe(true);
		expect(failed({ error: "", output: "x" })?.isError).toBeUndefined();
		expect(failed({ error: null })?.isError).toBeUndefined();
		expect(failed({ error: { code: 5 } })?.whole?.write("x")).toEqual({ error: "x" });
	});

	it("an error stays one even when the guard removes all its text", async () => {
		const conversation = [
			user("Go."),
			model(call("ls")),
			answers({ functionResponse: { name: "ls", response: { error: "No such file." } } }),
			user("Go on."),
		];
		const policy = policyOf({ guard: { max_tool_result_chars: 0, truncate_head_chars: 0, truncate_tail_chars: 5 } });
		const outcome = await guardConversation({ conversation, policy, contextWindow: 100_000 });
		expect(outcome.error).toBeUndefined();
		expect(outcome.edits).toMatchObject([{ path: "/2/parts/0/functionResponse/response/error", replacement: "" }]);
	});

	it("an image in a response becomes a plain text file, the only text allowed there", async () => {
		const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
		const shot = { functionResponse: { name: "shoot", response: {}, parts: [image] } };
		const contents = [user("Go."), model(call("shoot")), answers(shot), model(call("ls")), answers(answer("ls", "ok"))];
		const policy = policyOf({ media: "mask", mask: { window_turns: 1 } });
		const { edits, conversation, error } = await maskConversation({ conversation: contents, policy });
		expect(error).toBeUndefined();
		const replacement = JSON.stringify(edits[0]?.replacement);
		const [, data = ""] = /^{"inlineData":{"mimeType":"text\/plain","data":"(.*)"}}$/.exec(replacement) ?? [];
		const text = Buffer.from(data, "base64").toString("utf8");
		expect(text).toMatch(/^\[Média masqué: image\/png, .*outil=shoot\)\]$/);
		expect(readConversation(conversation).transcript.messages[2]?.counted).toContain(text);
	});
});

describe("Google Gemini: contents", () => {
	it("reads a content without a role as the user's, `function` as a tool's, and an empty model answer", () => {
		const { messages } = read(
			{ parts: [{ text: "Go." }] },
			{ role: "model" },
			{ role: "function", parts: [answer("ls", "1")] },
		);
		expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
	});

	it("counts the fields that the SDK takes in `config`", () => {
		const config = { systemInstruction: "You are an agent.", tools: [{ functionDeclarations: [] }], temperature: 0 };
		const { transcript } = readConversation({ model: "gemini", contents: [user("Go.")], config });
		expect(transcript.surroundings).toEqual(["You are an agent.", '[{"functionDeclarations":[]}]']);
	});

	it("a user message always comes first", () => {
		expect(read(user("Go.")).opensWithUser).toBe(true);
	});

	it.each([
		[{ role: "user", content: "x" }],
		[{ role: "user", parts: [{ type: "text", text: "x" }] }],
		[{ role: "user", parts: "x" }],
		[{ role: "user", parts: ["x"] }],
		[{ role: "user" }],
	])("does not match %j", (content) => {
		expect(() => read(user("Go."), content)).toThrow(
			/Google Gemini contents .*: message 1 \(counted from 0\) does not fit/,
		);
	});
});

describe("Google Gemini: a long output shortened by our hook", () => {
	const shortened = (notice: string, rest = outputOf("shortened")) => `${notice}\n${rest}`;
	const failed = (error: string) => ({ functionResponse: { id: "a", name: "sh", response: { error } } });
	const history = (error: string) => [
		user("Go."),
		model(call("sh", "a")),
		answers(failed(error)),
		model(call("ls", "b")),
		answers(answer("ls", "ok", "b")),
	];
	const responseIn = (conversation: unknown) =>
		(conversation as ReturnType<typeof answers>[])[2]?.parts[0] as ReturnType<typeof failed>;

	it.each(Object.entries(excerptWordings))(
		"is not an error, in %s, although it is sent as one",
		async (_locale, { noError }) => {
			for (const lead of ["", "Tool result blocked: "]) {
				const contents = history(shortened(lead + noError));
				expect(read(...contents).messages[2]?.results[0]?.isError).toBeUndefined();
				for (const error_detection of ["words", "structural"] as const) {
					const archive = await openArchive({ where: "memory" });
					const policy = policyOf({ mask: { window_turns: 1, error_detection } });
					const { conversation, error } = await maskConversation({ conversation: contents, policy, archive });
					expect(error).toBeUndefined();
					expect(responseIn(conversation).functionResponse.response).toEqual({
						output: expect.stringMatching(/^\[Observation masquée/),
					});
					const back = await restoreConversation({ conversation, policy, archive: archive as Archive });
					expect(back.conversation).toEqual(contents);
				}
			}
		},
	);

	it("is not an error either when its first line is cut", async () => {
		const contents = history(shortened(excerptWordings.en.noError));
		const archive = await openArchive({ where: "memory" });
		const guard = { max_tool_result_chars: 300, truncate_head_chars: 10, truncate_tail_chars: 100 };
		for (const strategy of ["head_tail", "auto"] as const) {
			const policy = policyOf({ guard: { ...guard, ladder: ["truncate"] }, truncate: { strategy } });
			const request = { conversation: contents, policy, archive, contextWindow: 100_000 };
			const { conversation, error } = await guardConversation(request);
			expect(error).toBeUndefined();
			expect(Object.keys(responseIn(conversation).functionResponse.response)).toEqual(["output"]);
			const back = await restoreConversation({ conversation, policy, archive: archive as Archive });
			expect(back.conversation).toEqual(contents);
		}
	});

	it("is distinguished from an error that quotes the notice", () => {
		const { noError } = excerptWordings.en;
		for (const error of [`Failed.\n${noError}\n`, noError, `${"x".repeat(61)}${noError}\n`, `${noError} Not so.\n`]) {
			expect(read(...history(error)).messages[2]?.results[0]?.isError).toBe(true);
		}
		const other = { functionResponse: { id: "a", name: "sh", response: { error: shortened(noError), code: 1 } } };
		expect(read(model(call("sh", "a")), answers(other)).messages[1]?.results[0]?.isError).toBe(true);
	});
});
