import { test } from "@fast-check/vitest";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ValueEdit, type WrittenText, writeGrown, writeValues } from "../../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";

interface Conversation {
	readonly messages: readonly { readonly content: string }[];
	readonly tools: readonly string[];
}

const documentOf = (value: unknown, space: number) => readTextDocument(JSON.stringify(value, null, space), "the text");

function editsOf({ messages }: Conversation, every: number): ValueEdit[] {
	return messages.flatMap((_, index): ValueEdit[] => {
		if (index % every !== 0 || index === messages.length - 1) return [];
		return [{ kind: "replace", path: ["messages", index, "content"], replacement: `[masked ${index}]` }];
	});
}

describe("a text that grows", () => {
	let reused = 0;

	test.prop([
		fc.array(fc.string({ maxLength: 40 }), { minLength: 3, maxLength: 12 }),
		fc.integer({ min: 1, max: 3 }),
		fc.integer({ min: 0, max: 1 }),
		fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
	])("is written as if it were new", (texts, every, space, changes) => {
		let before: WrittenText | undefined;
		for (let end = 2; end <= texts.length; end += 1) {
			const messages = texts.slice(0, end).map((text, index) => {
				// The host changes an earlier message now and then.
				return { content: changes[end] && index === 1 ? `${text} ${end}` : text };
			});
			const conversation = { messages, tools: ["read", "messages"] };
			const document = documentOf(conversation, space);
			const edits = editsOf(conversation, every);
			const grown = writeGrown(document, edits, before);
			if (before && grown.editedUntil === before.editedUntil) reused += 1;
			expect(grown.written).toBe(writeValues(document, edits));
			before = grown;
		}
	});

	it("was written again from its beginning in some of these cases", () => {
		expect(reused).toBeGreaterThan(20);
	});

	it.each(["thinking", "messages"])(
		"with a second `%s` is written by the last one, which is also the one read",
		(name) => {
			const edits: ValueEdit[] = [
				{ kind: "replace", path: ["messages", 0], replacement: "x" },
				{ kind: "replace", path: ["thinking", 0], replacement: "y" },
			];
			const before = '{"thinking":["a","b"],"messages":["a","b"]';
			const first = writeGrown(readTextDocument(`${before}}`, "the text"), edits, undefined);
			const grown = readTextDocument(`${before},"${name}":["c","d"]}`, "the text");
			expect(writeGrown(grown, edits, first).written).toBe(writeValues(grown, edits));
		},
	);
});
