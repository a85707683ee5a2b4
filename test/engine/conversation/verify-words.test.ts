import { expect, it } from "vitest";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { verify } from "../../../src/engine/conversation/verify.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { roughCount } from "../../support/rough-count.ts";

const transcript = (...texts: readonly string[]) =>
	readConversation({ messages: texts.map((content) => ({ role: "user", content })) }, false).transcript;

/** What verification says of kept words that the conversation does not have. */
function missingWords(said: Transcript, pinned?: readonly string[]): string[] {
	const sides = { document: [], transcript: said };
	const given = { plan: [], base: [], countTokens: roughCount, ...(pinned && { pinned }) };
	return verify(sides, sides, given).map(({ promise, detail }) => {
		expect(promise).toBe("users_words_kept");
		return detail;
	});
}

it("texts are found word for word, in order, within others and more than once", () => {
	const said = transcript("Mend it.\nNever push.", "Yes.", "Yes.");
	expect(missingWords(said, ["Mend it.", "Never push.", "Yes.", "Yes."])).toEqual([]);
	expect(missingWords(said)).toEqual([]);
	expect(missingWords(said, ["Yes.Yes."])).toHaveLength(1);
});

it("a text that is missing, changed or after its place is named by number and size alone", () => {
	const said = transcript("Mend it.", "Never push.");
	expect(missingWords(said, ["Mend it.", "never push."])).toEqual(["text 1 of 2, with 11 characters"]);
	expect(missingWords(said, ["Never push.", "Mend it."])).toEqual(["text 1 of 2, with 8 characters"]);
	const unsent = { ...said, messages: said.messages.map((message) => ({ ...message, sent: false })) };
	expect(missingWords(unsent, ["Mend it."])).toHaveLength(1);
	const answered = readConversation({ messages: [{ role: "assistant", content: "Never push." }] }, false);
	expect(missingWords(answered.transcript, ["Never push."])).toHaveLength(1);
});
