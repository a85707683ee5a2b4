import { describe, expect, it } from "vitest";
import { joinAnswers } from "../../src/formats/format.ts";
import { MessageDraft, noContent, unsent } from "../../src/formats/parts.ts";

let next = 0;
const says = (text: string) => {
	const draft = new MessageDraft("assistant", [next++]);
	draft.count(text);
	return draft;
};
const calls = (id: string) => {
	const draft = new MessageDraft("assistant", [next++]);
	draft.addCall(id, "ls", {});
	return draft;
};
const answers = (callId: string) => {
	const draft = new MessageDraft("tool", [next++]);
	draft.addResult({ callId, ...noContent });
	return draft;
};
const user = () => new MessageDraft("user", [next++]);
const shape = (...drafts: Parameters<typeof joinAnswers>[0]) =>
	joinAnswers(drafts).map((message) => `${message.role} ${message.paths.length}`);

describe("joinAnswers", () => {
	it("joins consecutive output of the model, up to a result or a user", () => {
		expect(shape(says("x"), calls("a"), calls("b"), answers("a"), answers("b"), says("y"), user(), says("z"))).toEqual([
			"assistant 3",
			"tool 1",
			"tool 1",
			"assistant 1",
			"user 1",
			"assistant 1",
		]);
	});

	it("joins parallel calls that were recorded after the first result", () => {
		expect(shape(calls("a"), calls("b"), answers("a"), calls("c"), answers("b"), answers("c"))).toEqual([
			"assistant 3",
			"tool 1",
			"tool 1",
			"tool 1",
		]);
	});

	it("pairs a reused id with its nearest call", () => {
		expect(shape(calls("a"), answers("a"), calls("a"), answers("a"))).toEqual([
			"assistant 1",
			"tool 1",
			"assistant 1",
			"tool 1",
		]);
	});

	it("never joins sent with unsent parts", () => {
		expect(shape(unsent(says("x")), says("y"))).toEqual(["assistant 1", "assistant 1"]);
	});
});
