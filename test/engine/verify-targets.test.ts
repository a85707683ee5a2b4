import { describe, expect, it } from "vitest";
import type { Plan } from "../../src/engine/edit.ts";
import type { Path } from "../../src/engine/path.ts";
import type { Message, ToolResult, Transcript } from "../../src/engine/transcript.ts";
import { verify } from "../../src/engine/verify.ts";
import { roughCount } from "../support/rough-count.ts";

const write = (text: string) => text;

function resultAt(path: Path, texts: number): ToolResult {
	return {
		callId: "a",
		texts: Array.from({ length: texts }, (_, index) => ({ path: [...path, index, "text"], text: "x" })),
		whole: { path, write },
		copies: [{ path: [...path, "copy"], text: "x" }],
		media: [],
		isError: undefined,
	};
}

function transcriptOf(results: number, texts: number): Transcript {
	const message: Message = {
		role: "user",
		paths: [[0]],
		counted: [],
		mediaTokens: 0,
		calls: [],
		results: Array.from({ length: results }, (_, index) => resultAt([0, "content", index], texts)),
		thinking: [],
	};
	return { format: "test", messages: [message], surroundings: [], opensWithUser: false };
}

const size = { chars: 1, tokens: 1 };
const replacing = (...paths: Path[]): Plan =>
	paths.map((path) => ({
		kind: "replace",
		reason: "mask",
		path,
		message: 0,
		before: size,
		after: size,
		replacement: "",
	}));

/** The edits that go to a place where none may go. Only targets are checked here: there is no document. */
function wrongTargets(transcript: Transcript, plan: Plan): string[] {
	const read = { document: [], transcript };
	const violations = verify(read, read, { plan, base: [], countTokens: roughCount });
	return violations.filter(({ promise }) => promise === "only_tool_results_edited").map(({ detail }) => detail);
}

describe.each([
	[1, 1],
	[1, 40],
	[3, 3],
	[40, 1],
])("with %i results of %i texts each", (results, texts) => {
	const transcript = transcriptOf(results, texts);
	const last = [0, "content", results - 1] as const;

	it("a plan may go to every text, to the whole and to copies", () => {
		const plan = replacing([0, "content", 0, 0, "text"], [...last, texts - 1, "text"], last, [...last, "copy"]);
		expect(wrongTargets(transcript, plan)).toEqual([]);
	});

	it.each<[string, Path]>([
		["the message", [0]],
		["its content", [0, "content"]],
		["a result that is not there", [0, "content", results]],
		["a text that is not there", [...last, texts, "text"]],
		["beside a text", [...last, 0, "type"]],
		["another message", [1, "content", 0]],
	])("it may not go to %s", (_, path) => {
		expect(wrongTargets(transcript, replacing(last, path))).toEqual([expect.stringContaining("is no tool result")]);
	});
});
