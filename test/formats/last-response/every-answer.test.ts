import { describe, expect, it } from "vitest";
import { readLastResponse } from "../../../src/formats/last-response.ts";
import { deepFreeze } from "../../support/deep-freeze.ts";
import type { AnswerPart } from "./answer.ts";
import { answerRows } from "./answer-rows.ts";

const text = (said: string): AnswerPart => ({ kind: "text", text: said });
const thought = (said: string): AnswerPart => ({ kind: "thought", text: said });
const call = (id: string): AnswerPart => ({ kind: "call", id, name: "read_file" });
const cutCall = (id: string): AnswerPart => ({ kind: "call", id, name: "read_file", isCut: true });

describe.each(answerRows)("$title", ({ write, reasons, callsComeLast, hasNoIds }) => {
	const read = (reason: unknown, ...parts: AnswerPart[]) => readLastResponse(deepFreeze(write({ reason, parts })));
	const answered = (id: string, isUsable: boolean) => ({
		id: hasNoIds ? undefined : id,
		name: "read_file",
		isUsable,
	});
	const [cut] = reasons.length;

	it.each(reasons.length)("reads a text that was cut: %s", (reason) => {
		expect(read(reason, thought("Let me see."), text("The files a"))).toEqual({
			finishReason: "length",
			text: "The files a",
			calls: [],
		});
	});

	it.each(reasons.length)("takes a call that was cut for unusable: %s", (reason) => {
		const { finishReason, calls } = read(reason, thought("Let me see."), cutCall("a"));
		expect({ finishReason, calls }).toEqual({ finishReason: "length", calls: [answered("a", false)] });
	});

	it("reads a cut answer with a whole call before a cut one", () => {
		expect(read(cut, text("I look. "), call("a"), cutCall("b"))).toEqual({
			finishReason: "length",
			text: "I look. ",
			calls: [answered("a", true), answered("b", false)],
		});
	});

	if (!callsComeLast) {
		it("reads a whole call before a cut text", () => {
			expect(read(cut, text("I look. "), call("a"), text("Then I"))).toEqual({
				finishReason: "length",
				text: "I look. Then I",
				calls: [answered("a", true)],
			});
		});
	}

	it.each(reasons.stop)("reads an answer that was not cut: %s", (reason) => {
		expect(read(reason, thought("So."), text("Done."))).toEqual({ finishReason: "stop", text: "Done.", calls: [] });
	});

	it.each([...reasons.tool_calls, ...reasons.stop])("reads calls that are whole: %s", (reason) => {
		expect(read(reason, text("I look."), call("a"), call("b"))).toEqual({
			finishReason: "tool_calls",
			text: "I look.",
			calls: [answered("a", true), answered("b", true)],
		});
	});

	it.each(reasons.other)("knows when it was neither: %s", (reason) => {
		expect(read(reason, text("Done."))).toEqual({ finishReason: "other", text: "Done.", calls: [] });
	});

	it("reads reasoning that took all tokens", () => {
		expect(read(cut, thought("Let me s"))).toEqual({ finishReason: "length", text: "", calls: [] });
	});
});
