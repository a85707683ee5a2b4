import { describe, expect, it } from "vitest";
import { describeData } from "../../../src/engine/truncation/shape.ts";
import { noticesOf } from "../../support/notices-of.ts";

const wording = { ...noticesOf("en"), data: "D{total_chars}", short: "S", shortArchived: "S-{ref}" };
const dark = "\0".repeat(9);
const text = `${dark}é1,+ x and more${dark}`;

/** The excerpt of so many characters, with a dot for each control character. */
const shown = (data: string, maxChars: number, { ref, failures }: Partial<Given> = {}) => {
	const notice = () => "NOTICE";
	const shorten = describeData(data, "binary", { marks: { wording, ref }, notice, failures });
	const { text: all, kept, notices } = shorten(maxChars);
	const ranges = kept.map(({ start, end }) => `${start}-${end}`).join(" ");
	return `${all.replaceAll("\0", ".").replaceAll("\n", "|")} ${ranges} ${notices.length}`;
};

interface Given {
	readonly ref: string;
	readonly failures: (maxChars: number) => { text: string; kept: []; notices: [] };
}

describe("the description of data", () => {
	it("is below the notice if 20 characters more fit, and before readable characters", () => {
		// The notice and the description take ten characters.
		expect(shown(text, 60)).toBe("NOTICE|D33|é1,+ x and more 9-24 2");
		expect(shown(text, 30)).toBe("NOTICE|D33|é1,+ x and more 9-24 2");
		expect(shown(text, 29)).toBe("D33|é1,+ x and more 9-24 1");
		expect(shown(text, 29, { ref: "abc" })).toBe("S-abc|é1,+ x and more 9-24 1");
	});

	it("has six readable characters or none", () => {
		expect(shown(text, 10)).toBe("D33|é1,+ x 9-15 1");
		expect(shown(text, 9)).toBe("D33  1");
		expect(shown(text, 11, { ref: "abc" })).toBe("S-abc  1");
		expect(shown(text, 12, { ref: "abc" })).toBe("S-abc|é1,+ x 9-15 1");
	});

	it("gives way to a shorter one, and to characters without any", () => {
		expect([3, 2, 1].map((maxChars) => shown(text, maxChars))).toEqual(["D33  1", "S  1", "S  1"]);
		expect([4, 3].map((maxChars) => shown(text, maxChars, { ref: "abc" }))).toEqual(["D33  1", "D33  1"]);
		expect([2, 1].map((maxChars) => shown(text, maxChars, { ref: "abc" }))).toEqual(["é1 9-11 0", "é 9-10 0"]);
		expect(shown(text, 0, { ref: "abc" })).toBe("  0");
		expect(shown("🦊".repeat(9), 1, { ref: "abc" })).toBe("…  0");
	});

	it("shows characters after the readable ones only without a description", () => {
		expect(shown(`${dark}readable\0\0`, 60)).toBe("NOTICE|D19|readable 9-17 2");
		expect(shown(`${dark}a\0b\0`, 60)).toBe("NOTICE|D13|.........a.b. 0-13 2");
		expect(shown("\0\0", 2, { ref: "a" })).toBe("D2  1");
		expect(shown("ab cd ef\0\0\0", 2, { ref: "abcdefghij" })).toBe("ab 0-2 0");
	});

	it("has at most 120 readable characters, which begin in its first 4 096", () => {
		expect(shown("x".repeat(500), 400)).toBe(`NOTICE|D500|${"x".repeat(120)} 0-120 2`);
		expect(shown(`${"\0".repeat(4_090)}readable`, 40)).toContain("|readab 4090-4096 ");
		expect(shown(`${"\0".repeat(4_091)}readable`, 40)).toContain("|.....");
	});

	it("has the lines of failures instead, if they get twice its room", () => {
		const failures = (maxChars: number) => ({ text: `F${maxChars}`, kept: [] as [], notices: [] as [] });
		expect([10, 9].map((maxChars) => shown(text, maxChars, { failures }))).toEqual(["D33|F6  1", "F9  0"]);
	});
});
