import { describe, expect, it } from "vitest";
import { bedrockConverse } from "../../src/formats/bedrock.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });

const read = (...messages: unknown[]) => readConversation(messages).transcript;

const user = (...content: unknown[]) => ({ role: "user", content });

const assistant = (...content: unknown[]) => ({ role: "assistant", content });

const call = (id: string) => ({ toolUse: { toolUseId: id, name: "ls", input: {} } });

const result = (id: string, content: unknown, status?: string) => ({
	toolResult: { toolUseId: id, content, ...(status ? { status } : {}) },
});

const resultOf = (content: unknown, status?: string) =>
	read(assistant(call("a")), user(result("a", content, status))).messages[1]?.results[0];

describe("AWS Bedrock Converse", () => {
	it("masks texts and JSON around a text, each in its own shape", async () => {
		const conversation = [
			user({ text: "Go." }),
			assistant(call("a"), call("b")),
			user(result("a", [{ text: outputOf("a") }]), result("b", [{ json: { files: outputOf("b") } }], "success"), {
				cachePoint: { type: "default" },
			}),
			assistant(call("c")),
			user(result("c", [{ text: "ok" }])),
		];
		const { edits, error } = await maskConversation({ conversation, policy: masking });
		expect(error).toBeUndefined();
		expect(edits.map(({ path, replacement }) => [path, Array.isArray(replacement)])).toEqual([
			["/2/content/0/toolResult/content", true],
			["/2/content/1/toolResult/content/0/json/files", false],
		]);
	});

	it("reads the status as the error flag", () => {
		expect(["error", "success", undefined].map((status) => resultOf([{ text: "x" }], status)?.isError)).toEqual([
			true,
			false,
			undefined,
		]);
	});

	it("counts reasoning without its signature, and ties it to the content before it", () => {
		const signed = { reasoningContent: { reasoningText: { text: "Hm.", signature: "c2lnbmF0dXJl" } } };
		const unsigned = { reasoningContent: { reasoningText: { text: "So." } } };
		const redacted = { reasoningContent: { redactedContent: "ZGF0YQ==" } };
		const [message] = read(assistant(signed, unsigned, redacted, call("a"))).messages;
		expect(message?.counted.slice(0, 3)).toEqual(["Hm.", "So.", "ZGF0YQ=="]);
		expect(message?.thinking.map(({ path, bound }) => [path.at(-1), bound])).toEqual([
			[0, true],
			[1, false],
			[2, true],
		]);
	});

	it("reads the reasoning of a session of Strands Agents", () => {
		const thought = { reasoning: { text: "Hm.", signature: "c2lnbmF0dXJl" } };
		const data = { messages: [{ role: "assistant", content: [thought, { text: "Hi." }] }] };
		const { format, transcript } = readConversation({ scope: "agent", schemaVersion: "1.0", data });
		expect(format).toBe(bedrockConverse);
		expect(transcript.messages[0]).toMatchObject({ counted: ["Hm.", "Hi."], thinking: [{ text: "Hm.", bound: true }] });
	});

	it("cache points cost nothing; media are estimated without counting their bytes", () => {
		const [message] = read(
			user(
				{ text: "Look." },
				{ cachePoint: { type: "default" } },
				{ image: { format: "png", source: { bytes: "AAAA" } } },
				{ document: { format: "pdf", name: "d", source: { bytes: "AAAA" } } },
				{ video: { format: "mp4", source: { s3Location: { uri: "s3://b/v.mp4" } } } },
			),
		).messages;
		expect(message?.counted).toEqual(["Look."]);
		expect(message?.mediaTokens).toBeGreaterThan(2_000);
	});

	it("a document with a plain text counts as text", () => {
		const document = { document: { format: "txt", name: "d", source: { text: outputOf("document") } } };
		expect(read(user(document)).messages[0]).toMatchObject({ mediaTokens: 0, counted: [JSON.stringify(document)] });
		const inResult = resultOf([document]);
		expect(inResult?.texts.map(({ path }) => path.slice(-3))).toEqual([["document", "source", "text"]]);
		expect(inResult?.whole).toBeUndefined();
	});

	it.each([
		["blocks with a type", user({ type: "text", text: "x" })],
		["a string", { role: "user", content: "x" }],
		["a role of its own for results", { role: "tool", content: [{ text: "x" }] }],
		["a block that is not an object", user("x")],
	])("does not match %s", (_, message) => {
		expect(() => read(assistant(call("a")), message)).toThrow(
			/AWS Bedrock Converse messages .*: message 1 \(counted from 0\) does not fit/,
		);
	});

	it("a message without content does not make the others unreadable", () => {
		const { format, transcript } = readConversation([{ role: "assistant", content: null }, user({ text: "x" })]);
		expect(format.name).toBe("bedrock-converse");
		expect(transcript.messages[0]?.counted.join("")).toBe("");
	});
});
