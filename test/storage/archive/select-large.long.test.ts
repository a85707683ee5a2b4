import { beforeAll, describe, expect, it } from "vitest";
import type { CountTokens } from "../../../src/engine/conversation/measure.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import type { PartRequest } from "../../../src/storage/archive/part.ts";
import { selectPart } from "../../../src/storage/archive/select.ts";
import { isWhole } from "../../support/breadth.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const lines = isWhole ? 1_000_000 : 200_000;

describe(`an original of ${lines / 10_000} MB`, () => {
	let countTokens: CountTokens = () => 0;
	beforeAll(async () => {
		countTokens = await loadCounter("o200k_base");
	});

	it("is stored, and any part of it is read without loading it completely", async () => {
		const archive = await openArchive({ where: await scratchFolder() });
		if (archive === undefined) throw new Error("no archive");
		const lineAt = (number: number) => `${number} ${"x".repeat(99 - String(number).length)}\n`;
		const text = Array.from({ length: lines }, (_, index) => lineAt(index + 1)).join("");
		expect(text.length).toBe(101 * lines);
		const [ref = ""] = await archive.put([{ text, kind: "result" }]);
		let mostHeld = 0;
		const recall = (request: PartRequest) =>
			archive.read(ref, (pieces) => {
				const select = selectPart(request, { countTokens });
				const watched = (async function* () {
					for await (const piece of pieces) {
						mostHeld = Math.max(mostHeld, piece.length);
						yield piece;
					}
				})();
				return select(watched);
			});
		const middle = Array.from({ length: 10 }, (_, index) => lineAt(150_000 + index)).join("");
		expect((await recall({ lines: "150000-150009" })).value.text).toBe(middle);
		expect((await recall({ tail: 1 })).value.text).toBe(lineAt(lines));
		expect((await recall({ grep: "^177777 ", context: 0 })).value.text).toBe(`177777:${lineAt(177_777)}`);
		expect((await recall({ chars: "0-6" })).value.text).toBe("1 xxxx");
		const whole = (await recall({})).value;
		expect(whole.tokens).toBeLessThanOrEqual(2000);
		expect(whole.total).toEqual({ lines, chars: text.length });
		expect(mostHeld).toBeLessThan(200_000);
		await archive.close();
	});
});
