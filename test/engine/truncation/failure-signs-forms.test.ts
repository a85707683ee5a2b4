import { describe, expect, it } from "vitest";
import { failureSign, isSummaryLine } from "../../../src/engine/truncation/failure-signs.ts";
import { formLines, summaryLines } from "./failure-form-lines.ts";

describe("a line in the least words", () => {
	it.each(["sure", "likely", "none"] as const)("is %s", (sign) => {
		expect(formLines[sign].filter((line) => failureSign(line) !== sign)).toEqual([]);
	});

	it("summarises a run or not", () => {
		const all = [...formLines.sure, ...formLines.likely, ...formLines.none];
		expect(all.filter(isSummaryLine)).toEqual(all.filter((line) => summaryLines.includes(line)));
		expect(summaryLines.length).toBeGreaterThan(20);
	});

	it("is read to 600 characters from both ends, and to its last character that is not a blank", () => {
		const failing = "Segmentation fault";
		const around = (before: number, behind: number) => `${"z ".repeat(before / 2)}${failing}${" z".repeat(behind / 2)}`;
		expect(failureSign(around(500, 900))).toBe("sure");
		expect(failureSign(around(900, 500))).toBe("sure");
		expect(failureSign(around(700, 700))).toBe("none");
		expect(failureSign(around(580, 600))).toBe("sure");
		// A line of 1200 characters is read in one piece.
		expect(failureSign(around(594, 588))).toBe("sure");
		expect(failureSign("\u001b[1;31mld: x not found\u001b[0m  ")).toBe("sure");
		expect([around(0, 300), `Ran 3 tests ${"z".repeat(700)}`].map(isSummaryLine)).toEqual([false, true]);
		expect(isSummaryLine(`${"z ".repeat(299)}3 passed, ${"z ".repeat(299)}`)).toBe(false);
	});
});
