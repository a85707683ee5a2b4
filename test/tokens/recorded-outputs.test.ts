import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/tokens/load-counter.ts";
import { encodingNames, reference } from "./reference.ts";

// Real tool outputs, kept beside the repository and not part of it.
const folder = new URL("../../../shared/data/outputs/", import.meta.url);
const present = existsSync(folder);
const sliceLength = 20_000;
const slicesPerFile = 3;

describe.skipIf(!present)(`recorded outputs${present ? "" : " (skipped: ../shared/data is not here)"}`, () => {
	const texts = present
		? readdirSync(folder).flatMap((name) => slices(readFileSync(new URL(name, folder), "utf8")))
		: [];

	it.each(encodingNames)(
		"count in %s as gpt-tokenizer counts them",
		async (encoding) => {
			const count = await loadCounter(encoding);
			expect(texts.length).toBeGreaterThan(0);
			for (const text of texts) expect(count(text)).toBe(reference[encoding](text));
		},
		120_000,
	);
});

function slices(text: string): string[] {
	const clean = text.replaceAll("\ufeff", "");
	const stride = Math.max(sliceLength, Math.floor(clean.length / slicesPerFile));
	const found: string[] = [];
	for (let start = 0; start < clean.length && found.length < slicesPerFile; start += stride) {
		found.push(clean.slice(start, start + sliceLength).toWellFormed());
	}
	return found;
}
