import { describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import type { InsertEdit, Plan, RemoveEdit, ReplaceEdit } from "../../../src/engine/conversation/plan.ts";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { verify } from "../../../src/engine/conversation/verify.ts";
import { compareDocuments } from "../../../src/engine/conversation/verify-trace.ts";
import { roughCount } from "../../support/rough-count.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";
import { messageOf, transcriptFrom } from "../../support/transcripts.ts";

const messages = openaiMessages(user("Go."), ...toolTurn("call_1", "one two three ".repeat(40), "ls"), user("Well?"));
const last = messages.length - 1;
const edit: ReplaceEdit = {
	kind: "replace",
	reason: "mask",
	path: [last - 1, "content"],
	message: last - 1,
	before: { chars: 560, tokens: 140 },
	after: { chars: 3, tokens: 1 },
	replacement: "[x]",
};
const before = { document: messages, transcript: transcriptFrom(messages) };

function readAs(plan: Plan, change: (transcript: Transcript) => Transcript) {
	const document = applyPlan(messages, plan);
	return { document, transcript: change(transcriptFrom(document)) };
}

it("a message that is masked in its place comes from there", () => {
	const after = readAs([edit], (transcript) => transcript);
	const trace = compareDocuments({ before, after, plan: [edit], base: [], report: expect.unreachable });
	expect(trace.origins).toEqual(messages.map((_, index) => index));
});

it("messages that are read from each other's places are noticed, though the documents differ in a result alone", () => {
	const swapped = readAs([edit], (transcript) => {
		const [first, ...others] = transcript.messages;
		const end = others.pop();
		return { ...transcript, messages: [end, ...others, first] as Transcript["messages"] };
	});
	const violations = verify(before, swapped, { plan: [edit], base: [], countTokens: roughCount });
	expect(violations.map(({ promise }) => promise)).toContain("order_kept");
});

describe("messages within records", () => {
	const size = { chars: 1, tokens: 1 };
	const remove = (path: Path): RemoveEdit => ({
		...{ kind: "remove", reason: "drop", message: 0, path, before: size, after: size },
	});
	const document = { list: [{ parts: ["a"] }, { parts: ["b", "c"], time: 1 }, { parts: ["d"] }] };
	const partsAt = (...places: [number, number][]) =>
		places.map(([record, part]): Path => ["list", record, "parts", part]);

	function trace(plan: Plan, paths: readonly Path[]) {
		const transcript = (places: readonly Path[]): Transcript => ({
			...{ format: "test", surroundings: [], opensWithUser: false },
			messages: places.map((path) => messageOf({ paths: [path] })),
		});
		const before = { document, transcript: transcript(partsAt([0, 0], [1, 0], [1, 1], [2, 0])) };
		const after = { document: applyPlan(document, plan), transcript: transcript(paths) };
		const found = compareDocuments({ before, after, plan, base: ["list"], report: expect.unreachable });
		return { origins: found.origins, places: found.places.flat(), written: [...found.written] };
	}

	it("are found where they moved to", () => {
		const places = ["/list/0/parts/0", "/list/0/parts/1", "/list/1/parts/0"];
		const origins = [1, 2, 3];
		expect(trace([remove(["list", 0])], partsAt([0, 0], [0, 1], [1, 0]))).toEqual({ origins, places, written: [] });
	});

	it("are found by their record if one of them is left", () => {
		const plan = [remove(["list", 1, "parts", 0])];
		const places = ["/list/0/parts/0", "/list/1/parts/0", "/list/2/parts/0"];
		const paths: Path[] = [
			["list", 0, "parts", 0],
			["list", 1],
			["list", 2, "parts", 0],
		];
		expect(trace(plan, paths)).toEqual({ origins: [0, 2, 3], places, written: [] });
	});

	it("are new in an inserted record, and only a message is written among them", () => {
		const insert = (path: Path, inserts: "message" | "part"): InsertEdit => ({
			...{ kind: "insert", reason: "append", message: 0, path, inserts, before: size, after: size },
			value: { parts: ["e"] },
		});
		const plan = [insert(["list", 1], "message"), insert(["list", 2, "parts", 1], "part")];
		const { origins, written } = trace(plan, partsAt([0, 0], [1, 0], [2, 0], [2, 1], [3, 0]));
		expect(origins).toEqual([0, -1, 1, 2, 3]);
		expect(written).toEqual(["/list/1"]);
	});
});

it("a list in the place of an object, or the other way around, differs", () => {
	const plan: Plan = [{ ...edit, path: [0, "content"], message: 0, replacement: "[x]" }];
	const [object, list] = [{ content: "Go." }, ["Go."]];
	for (const [old, current] of [
		[object, ["[x]"]],
		[list, { content: "[x]" }],
	]) {
		const places: string[] = [];
		const [from, to] = [old, current].map((item) => ({ document: [item], transcript: before.transcript }));
		if (!from || !to) throw new Error("Expected two documents.");
		compareDocuments({ before: from, after: to, plan, base: [], report: (_, detail) => places.push(detail) });
		expect(places).toEqual(["/0"]);
	}
});
