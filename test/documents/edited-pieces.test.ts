import { describe, expect, it } from "vitest";
import { type PortableEdit, writeEdits } from "../../src/documents/apply-edits.ts";
import { editedPieces } from "../../src/documents/edited-pieces.ts";
import { sha256Of } from "../../src/documents/sha256-of.ts";
import { readTextDocument } from "../../src/documents/text-document.ts";

const messages = Array.from({ length: 40 }, (_, index) => ({ content: `${index}${"🦊".repeat(index * 900)}` }));
const document = readTextDocument(JSON.stringify(messages, undefined, 1), "the text");
const replaced = (index: number): PortableEdit => ({
	kind: "replace",
	path: `/${index}/content`,
	sha256_before: sha256Of(messages[index]?.content),
	replacement: "short 🧵",
});
const removed = (index: number): PortableEdit => ({
	kind: "remove",
	path: `/${index}`,
	sha256_before: sha256Of(messages[index]),
});

describe("editedPieces", () => {
	it.each([
		["no edit", []],
		["some edits", [replaced(3), removed(20), replaced(39)]],
		["all taken out", messages.map((_, index) => removed(index))],
	])("are the edited text, in pieces that each are whole characters: %s", (_, edits) => {
		const pieces = [...editedPieces(document, edits)];
		expect(pieces.join("")).toBe(writeEdits(document, edits).text);
		expect(pieces.every((piece) => piece.isWellFormed() && piece.length <= 1 << 16)).toBe(true);
		expect(pieces.length).toBeGreaterThan(edits.length === messages.length ? 0 : 10);
	});

	it("refuse edits of another text before the first piece", () => {
		const stale = { ...replaced(3), sha256_before: sha256Of("other") };
		expect(() => editedPieces(document, [stale]).next()).toThrow(/stands something else/);
	});
});
