import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it, vi } from "vitest";
import { lostIdentifiers } from "../../../src/engine/compaction/lost-identifiers.ts";
import { createSubstringFinder } from "../../../src/engine/compaction/substring-finder.ts";

const letters = fc.string({ unit: fc.constantFrom("a", "b", "/", "é", "\ud83d\ude00"), minLength: 20, maxLength: 40 });

describe("createSubstringFinder", () => {
	const held = { some: 0, none: 0 };

	test.prop([letters, fc.string({ unit: fc.constantFrom("a", "b", "/"), maxLength: 9 }), fc.nat(12), fc.nat(12)])(
		"tells what a search of the text would",
		(text, other, start, length) => {
			const holds = createSubstringFinder(text);
			for (const part of [other, text.slice(start, start + length), `${text.slice(start, start + length)}b`]) {
				expect(holds(part)).toBe(text.includes(part));
				if (part.length > 6) held[text.includes(part) ? "some" : "none"] += 1;
			}
		},
	);

	afterAll(() => {
		expect(Math.min(held.some, held.none)).toBeGreaterThan(20);
	});
});

describe("identifiers of a very long range", () => {
	it("are told from a long summary without searching it for each of them", () => {
		const paths = Array.from({ length: 3_000 }, (_, index) => `/srv/part${index % 7}/file_${index}_x.ts`);
		const summary = `${"The files of /srv/part1 are read, file_ by file_. ".repeat(400)} ${paths[5]}`;
		const searches = [vi.spyOn(String.prototype, "indexOf"), vi.spyOn(String.prototype, "includes")];
		const { found, lostCount } = lostIdentifiers({ texts: [paths.join(" ")], summary });
		const long = searches.flatMap(({ mock }) => mock.contexts).filter((text) => String(text).length >= summary.length);
		vi.restoreAllMocks();
		expect({ found, lostCount }).toEqual({ found: 3_000, lostCount: 2_999 });
		expect(long.length).toBeLessThan(100);
	});
});
