import { describe, expect, it } from "vitest";
import type { ToolResult } from "../../../src/engine/conversation/transcript.ts";
import { planTruncate, type TruncateParameters } from "../../../src/engine/truncation/truncate-results.ts";
import { noticesOf } from "../../support/notices-of.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const limits = { maxChars: 100, headChars: 20, tailChars: 10, marker: "<{omitted_chars} {ref}>" };

const archiving = { refOf: (text: string) => `r${text.length}`, jsonAt: () => "" };

const texts = (...lengths: readonly number[]) =>
	lengths.map((length, index) => ({ path: [1, "content", index, "text"], text: `${index}`.repeat(length) }));

const whole = { path: [1, "content"], write: (text: string) => text };

const plan = (result: Partial<ToolResult>, more: Partial<TruncateParameters> = {}, sent?: false) => {
	const transcript = transcriptOf(
		messageOf({ calls: [{ id: "a", name: "look" }] }),
		messageOf({ role: "tool", results: [{ ...resultOf("a"), ...result }], ...(sent === false ? { sent } : {}) }),
	);
	return planTruncate({ transcript, limits, countTokens: roughCount, ...more }).map(
		({ path, replacement, before, after, takenOut, unsent }) => ({
			path: path.slice(1).join("."),
			replacement,
			before: `${before.chars}/${before.tokens}`,
			after: `${after.chars}/${after.tokens}`,
			ref: takenOut?.ref,
			unsent,
		}),
	);
};

const cut = (length: number, digit = "0", ref = "-") => `${digit.repeat(20)}<${length - 30} ${ref}>${digit.repeat(10)}`;

const edit = (path: string, replacement: unknown, before: string, after: string, more: object = {}) => ({
	path,
	replacement,
	before,
	after,
	ref: undefined,
	unsent: undefined,
	...more,
});

describe("the texts of a result", () => {
	it("are cut over the limit, each with its reference", () => {
		expect(plan({ texts: texts(100) })).toEqual([]);
		expect(plan({ texts: texts(101) })).toEqual([edit("content.0.text", cut(101), "101/26", "36/9")]);
		expect(plan({ texts: texts(200), whole }, { archiving })).toEqual([
			edit("content.0.text", cut(200, "0", "r200"), "200/50", "40/10", { ref: "r200" }),
		]);
		expect(plan({ texts: texts(200), whole: { ...whole, only: true } as typeof whole })).toMatchObject([
			{ path: "content" },
		]);
		expect(plan({ texts: texts(200) }, {}, false)).toMatchObject([{ unsent: true }]);
	});

	it("are cut if they take no more tokens than before", () => {
		const countTokens = () => 5;
		expect(plan({ texts: texts(200) }, { countTokens })).toHaveLength(1);
		expect(plan({ texts: texts(60, 60), whole }, { countTokens })).toHaveLength(1);
	});

	it("are cut again if escape sequences or HTML are treated otherwise", () => {
		const byStrategy = { strategy: "head_tail", wording: noticesOf("en") } as const;
		const text = `<html>\n${"\u001b[1mword\u001b[0m\n".repeat(60)}`;
		const cutWith = (given: object) =>
			String(
				plan({ texts: [{ path: [1, "content"], text }] }, { byStrategy: { ...byStrategy, ...given } })[0]?.replacement,
			);
		expect(cutWith({})).toContain("\u001b");
		expect(cutWith({ stripAnsi: (one: string) => one.replaceAll("\u001b", "") })).not.toContain("\u001b");
		const html = { strategy: "html", stripAnsi: (one: string) => one };
		expect(cutWith(html)).toContain("word");
		expect(cutWith({ ...html, htmlToText: () => "converted" })).toContain("converted");
	});

	it("stay if they are placeholders", () => {
		const isPlaceholder = (text: string) => text.startsWith("0");
		expect(plan({ texts: texts(200, 300) }, { isPlaceholder })).toMatchObject([{ path: "content.1.text" }]);
		expect(plan({ texts: texts(200) }, { isPlaceholder })).toEqual([]);
	});

	it("are cut as one if all together stay over the limit", () => {
		const joined = `${"0".repeat(60)}\n${"1".repeat(60)}`;
		expect(plan({ texts: texts(60, 60), whole })).toEqual([
			edit("content", `${"0".repeat(20)}<91 ->${"1".repeat(10)}`, "120/30", "36/9"),
		]);
		expect(plan({ texts: texts(60, 60), whole }, { archiving })).toMatchObject([{ ref: `r${joined.length}` }]);
		expect(plan({ texts: texts(50, 50), whole })).toEqual([]);
		expect(plan({ texts: texts(60, 60) })).toEqual([]);
		expect(plan({ texts: texts(200, 20) })).toMatchObject([{ path: "content.0.text" }]);
		expect(plan({ texts: texts(200, 20), whole })).toMatchObject([{ path: "content.0.text" }]);
		expect(plan({ texts: texts(200, 90), whole })).toMatchObject([{ path: "content" }]);
		const isPlaceholder = (text: string) => text.startsWith("1");
		expect(plan({ texts: texts(60, 60), whole }, { isPlaceholder })).toEqual([]);
		const dear = (text: string) => (text.includes("<") ? 1_000 : 1);
		expect(plan({ texts: texts(60, 60), whole }, { countTokens: dear })).toEqual([]);
	});

	it("are cut as one only if that is shorter, in characters too", () => {
		const wide = { maxChars: 10, headChars: 4, tailChars: 4, marker: "-".repeat(12) };
		expect(plan({ texts: texts(10, 10), whole }, { limits: wide })).toEqual([]);
		expect(plan({ texts: texts(10, 9, 9), whole }, { limits: wide })).toMatchObject([{ after: "20/5" }]);
		const alike = (text: string) => (text.includes("<") ? 2 : 1);
		expect(plan({ texts: texts(60, 60), whole }, { countTokens: alike })).toMatchObject([
			{ before: "120/2", after: "36/2" },
		]);
	});

	it("stay one by one if they are within the limit, or cut already", () => {
		expect(plan({ texts: texts(200, 100) })).toMatchObject([{ path: "content.0.text" }]);
		const marker = "\n<{omitted_chars}>";
		const cutAlready = [`${"0".repeat(20)}`, `<91>${"1".repeat(10)}`].map((text, index) => ({
			path: [1, "content", index, "text"],
			text,
		}));
		expect(plan({ texts: cutAlready, whole }, { limits: { ...limits, maxChars: 30, marker } })).toEqual([]);
	});

	it("tell what was taken out of them", () => {
		const kindsOf = (result: Partial<ToolResult>) =>
			planTruncate({
				transcript: transcriptOf(
					messageOf({ calls: [{ id: "a", name: "look" }] }),
					messageOf({ role: "tool", results: [{ ...resultOf("a"), ...result }] }),
				),
				limits,
				countTokens: roughCount,
				archiving,
			}).map(({ reason, takenOut }) => [reason, takenOut?.kind]);
		const cutResult = ["truncate", "result"];
		expect(kindsOf({ texts: texts(60, 60), whole })).toEqual([cutResult]);
		const copies = [{ path: [9, "copies", 0], text: "c".repeat(200) }];
		expect(kindsOf({ texts: texts(200), copies })).toEqual([cutResult, cutResult]);
	});

	it("stay with their copies if they are placeholders", () => {
		const copies = [{ path: [9, "copies", 0], text: "c".repeat(200) }];
		const isPlaceholder = (text: string) => text.startsWith("0");
		expect(plan({ texts: texts(200), copies }, { isPlaceholder })).toEqual([]);
	});

	it("are cut with their copies and repeats, which are not sent", () => {
		const copies = [200, 100, 101].map((length, index) => ({ path: [9, "copies", index], text: "c".repeat(length) }));
		const edits = plan({ texts: texts(200), whole, copies, repeats: [[7]] }, { archiving });
		expect(edits.map(({ path, unsent, before, after, ref }) => [path, unsent, before, after, ref])).toEqual([
			["content.0.text", undefined, "200/50", "40/10", "r200"],
			["content.0.text", true, "200/50", "40/10", undefined],
			["copies.0", true, "200/0", "40/0", "r200"],
			["copies.2", true, "101/0", "39/0", "r101"],
		]);
		expect(plan({ texts: texts(90), whole, copies })).toEqual([]);
		const isPlaceholder = (text: string) => text.startsWith("c");
		expect(plan({ texts: texts(200), whole, copies }, { isPlaceholder })).toHaveLength(1);
	});

	it("get a marker where a strategy has no room for the reference", () => {
		const byStrategy = { strategy: "head_tail", wording: noticesOf("en") } as const;
		const [short] = plan({ texts: texts(300) }, { archiving, byStrategy });
		expect(String(short?.replacement)).toContain("ref=r300");
		const [tight] = plan({ texts: texts(300) }, { archiving, byStrategy, limits: { ...limits, maxChars: 45 } });
		expect(tight?.replacement).toBe(cut(300, "0", "r300"));
		const [bare] = plan({ texts: texts(300) }, { byStrategy, limits: { ...limits, maxChars: 60 } });
		expect(String(bare?.replacement)).toMatch(/^\[shortened: \d+ characters left out\]\n0+$/);
	});
});
