import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { applyEdits, invertEdits } from "../../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { applyToValue, plainValue } from "./apply-values.ts";
import { type ChosenEdit, choices, chooseEdits, expectedText } from "./chosen-edits.ts";
import { spelledDocument } from "./spelled-json.ts";

const seen = {
	json: 0,
	json_lines: 0,
	edits: 0,
	replaced: 0,
	removed: 0,
	hidden: 0,
	shared_lines: 0,
	big: 0,
	protos: 0,
};

function count(text: string, kind: "json" | "json_lines", edits: readonly ChosenEdit[]): void {
	if (edits.length === 0) return;
	seen[kind] += 1;
	seen.edits += edits.length;
	seen.replaced += edits.filter((edit) => edit.kind === "replace").length;
	seen.removed += edits.filter((edit) => edit.kind === "remove").length;
	seen.big += /9007199254740993|1234567890123/.test(text) ? 1 : 0;
	seen.protos += edits.some(({ path }) => /__proto__|constructor/.test(path)) ? 1 : 0;
	if (kind === "json_lines" && /[\]}][ \t\r]*[[{]/.test(text)) seen.shared_lines += 1;
}

describe("edits of a JSON text", () => {
	it("change the text like the value, keep every other byte, and can be undone", () => {
		fc.assert(
			fc.property(spelledDocument, choices, (document, picked) => {
				const { kind, text, roots } = document;
				const edits = chooseEdits(document, picked);
				count(text, kind, edits);
				if (roots.some(hasHidden)) seen.hidden += 1;

				const edited = applyEdits(text, edits);
				expect(edited.text).toBe(expectedText(document, edits));
				expect(invertEdits(edited)).toBe(text);
				expect(invertEdits({ text: edited.text, inverse: JSON.parse(JSON.stringify(edited.inverse)) })).toBe(text);

				const before = plainValue(text, kind === "json_lines" ? roots : undefined);
				const after = valueAfter(edited.text, kind);
				const expected = applyToValue(before, edits);
				expect(JSON.stringify(after)).toBe(JSON.stringify(expected));
			}),
			{ numRuns: numberOfCases(6_000) },
		);
	});

	afterAll(() => {
		process.stderr.write(`Lossless edits: ${JSON.stringify(seen)}\n`);
		for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(leastOfCases(100));
		expect(seen.edits).toBeGreaterThan(leastOfCases(4_000));
	});
});

function hasHidden(place: { readonly live: boolean; readonly children: readonly unknown[] }): boolean {
	return !place.live || (place.children as (typeof place)[]).some(hasHidden);
}

/** The value of an edited text. Records of which one is left read as one value, and of which none as nothing. */
function valueAfter(text: string, kind: "json" | "json_lines"): unknown {
	if (kind === "json") return plainValue(text);
	if (text.replace(/^\uFEFF/, "").trim() === "") return [];
	const document = readTextDocument(text, "the edited text");
	return document.kind === "json" ? [document.value] : document.value;
}
