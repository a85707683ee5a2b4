import { describe, expect, it } from "vitest";
import { jsonFailures } from "../../../src/engine/truncation/failures.ts";
import { focusWords } from "../../../src/engine/truncation/focus.ts";
import { shortenJson } from "../../../src/engine/truncation/json.ts";
import { type JsonSpans, jsonSpans } from "../../../src/engine/truncation/json-spans.ts";
import { noticesOf } from "../../support/notices-of.ts";

const wording = { ...noticesOf("en"), items: "i", keys: "k" };
const times = <Item>(count: number, item: (index: number) => Item) =>
	Array.from({ length: count }, (_, index) => item(index));

/** JSON in so many characters. A mark of a list or an object takes 18 characters and one for its comma. */
const shortened = (value: unknown, max: number, focus = "", notice = "N".repeat(300), inside = "~") => {
	const text = typeof value === "string" ? value : JSON.stringify(value);
	const isLines = text.includes("}\n{");
	const spans = jsonSpans(text, { isLines }) as JsonSpans;
	const failures = jsonFailures(spans);
	return shortenJson({
		spans,
		marks: { wording: { ...wording, inside }, ref: undefined },
		focus: focusWords(focus),
		failures,
		noticeOf: () => notice,
	})(max);
};
/** With marks in short: `{i}` for those of lists, `k` for those of objects, `N` for the notice. */
const textOf = (...given: Parameters<typeof shortened>) =>
	shortened(...given)
		.text.replace(/"_truncated":"(i|k|N)"/g, "$1")
		.replace(/"__truncated":"(i|k|N)"/g, '"__truncated":$1');

const numbers = times(30, (index) => index + 10);
const words = times(12, (index) => `${String.fromCharCode(97 + index).repeat(3)} item ${index}`);
const keyed = Object.fromEntries(times(12, (index) => [`key${String.fromCharCode(97 + index)}`, `value ${index}`]));
const statuses = times(12, (id) => ({ id, status: id === 4 ? "error" : id === 8 ? "failed" : "ok" }));

describe("a list", () => {
	it.each([
		[91, JSON.stringify(numbers)],
		[90, "[10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,{i},33,34,35,36,37,38,39]"],
		[39, "[10,11,12,13,{i},38,39]"],
		[38, "[10,11,12,13,{i},39]"],
		[27, "[10,{i},39]"],
		[26, "[10,{i}]"],
		[24, "[10,{i}]"],
		[23, "[{i}]"],
		[20, "[{i}]"],
		[19, "[]"],
		[2, "[]"],
		[1, "…"],
		[0, ""],
	])("in %i characters keeps its first and its last item, and two from the start for one from the end", (max, text) => {
		expect(textOf(numbers, max)).toBe(text);
	});

	it("keeps all its items if each can show 160 characters or all it has", () => {
		const long = ["a", "b", "x".repeat(500)];
		expect(textOf(long, 171)).toMatch(/^\["a","b","x+~x+"\]$/);
		expect(textOf(long, 170)).toBe('["a","b",{i}]');
		// Only the beginning of the first one fits then, and all others.
		expect(textOf(["x".repeat(500), 1, 2, 3], 100)).toMatch(/^\["x+~x+",1,2,3\]$/);
	});

	it("shows a long number as a mark", () => {
		expect(textOf('{"a":12345678901234567890123456789,"b":1}', 20)).toBe('{"a":"~","b":1}');
	});

	it("keeps the items with rare words of the focus, the first of equal ones", () => {
		const keptOf = (max: number, focus: string) =>
			textOf(words, max, focus)
				.match(/[a-l]{3}(?= item)|\{i\}/g)
				?.map((one) => one.replace("{i}", "."))
				.join(" ");
		expect(keptOf(80, "")).toBe("aaa bbb ccc . lll");
		expect(keptOf(80, "ggg")).toBe("aaa . ggg . lll");
		expect(keptOf(111, "jjj eee")).toBe("aaa bbb ccc . eee . lll");
		// A word that each item contains weighs nothing, and one of two items less than one of one.
		expect(keptOf(111, "item jjj")).toBe("aaa bbb ccc . jjj . lll");
		const pairs = [...words.slice(0, 6), "mmm ggg", "nnn ggg", "ooo hhh", ...words.slice(9)];
		expect(textOf(pairs, 90, "ggg hhh")).toContain('{i},"ooo hhh",{i}');
		// Three fifths of the room at most.
		expect(keptOf(150, "ccc eee ggg iii kkk")).toBe("aaa bbb ccc ddd eee . lll");
	});

	it("keeps the items with failures first, the most important ones, in half of its room", () => {
		const idsOf = (list: readonly object[], max: number) =>
			[...textOf(list, max).matchAll(/"id":(\d+)|\{i\}/g)].map(([, id]) => id ?? ".").join(" ");
		expect([130, 180, 250].map((max) => idsOf(statuses, max))).toEqual([
			...[". 4 . 8 .", "0 . 4 . 8 . 11", "0 1 2 3 4 . 8 . 11"],
		]);
		const rare = times(12, (id) => ({ id, status: id === 9 ? "failed" : id % 2 === 1 ? "error" : "ok" }));
		expect(idsOf(rare, 90)).toBe(". 9 .");
		const errors = times(12, (id) => ({ id, status: "error" }));
		expect([111, 112, 200].map((max) => idsOf(errors, max))).toEqual(["0 . 11", "0 . 11", "0 1 2 3 . 11"]);
	});

	it("shows an item with a failure alone, and its own text cut, where it is too large", () => {
		const failing = (chars: number) => ({ status: "error", text: "x".repeat(chars - 28) });
		const { text } = shortened(["w".repeat(300), failing(1_200), "w".repeat(300)], 700);
		expect(text).toMatch(/^\[\{"_truncated":"i"\},\{"status":"error","text":"x+~x+"\},\{"_truncated":"i"\}\]$/);
		expect(text.length).toBeLessThanOrEqual(700);
	});
});

describe("an object", () => {
	it("keeps all its keys if there is room for the beginnings of their values", () => {
		expect(textOf(keyed, 150)).toBe(
			'{"keya":"v~","keyb":"v~","keyc":"v~","keyd":"v~","keye":"v~","keyf":"v~","keyg":"v~","keyh":"v~","keyi":"va~","keyj":"va~","keyk":"va~","keyl":"va~"}',
		);
		expect(textOf(keyed, 145)).toBe(
			'{"keya":"~","keyb":"v~","keyc":"v~","keyd":"v~","keye":"v~","keyf":"v~","keyg":"v~","keyh":"v~","keyi":"v~","keyj":"v~","keyk":"v~","keyl":"v~"}',
		);
		expect(textOf(keyed, 134)).toMatch(/^\{("key[a-l]":"~",?){12}\}$/);
		expect(textOf(keyed, 133)).toMatch(/,k\}$/);
	});

	it("keeps its first and last keys otherwise, and those of the focus", () => {
		expect(textOf(keyed, 80)).toBe('{"keya":"value 0","keyb":"value 1","keyl":"value 11",k}');
		expect(textOf(keyed, 80, "keyg")).toBe('{"keya":"value 0","keyg":"value 6","keyl":"value 11",k}');
	});

	it("divides its room evenly between large values, and keeps small ones whole", () => {
		const value = { list: numbers, text: "x".repeat(60), object: keyed, small: 1 };
		expect(textOf(value, 150)).toBe(
			'{"list":[10,11,12,13,14,{i},38,39],"text":"xxxxxxxxxxxxxxxx~xxxxxxx","object":{"keya":"value 0",k},"small":1}',
		);
	});

	it("has a mark with a key that the text does not contain", () => {
		expect(textOf({ _truncated: "mine", list: numbers }, 70)).toContain('13,{"__truncated":i},38');
	});
});

describe("a string", () => {
	const many = `${"y ".repeat(30)}\nERROR: full\n${"z ".repeat(30)}\nERROR: disk gone\n${"w ".repeat(30)}`;

	it("keeps its lines of failures, and its start and end around them", () => {
		expect(textOf(JSON.stringify(many), 58)).toBe('"y y y y y y y y~ERROR: full\\n~ERROR: disk gone\\n~ w w w "');
		expect(textOf(JSON.stringify(many), 20)).toBe('"y ~ERROR: full\\n~ "');
		expect(textOf(JSON.stringify("x".repeat(100)), 33)).toMatch(/^"x+~x+"$/);
		expect(textOf(JSON.stringify("x".repeat(100)), 2)).toBe('""');
		// There is no room for a failure between two marks.
		expect(textOf(JSON.stringify(many), 20, "", "", "<omitted>")).toBe('"y y y <omitted> w "');
	});
});

describe("the lines of failures in a string", () => {
	it("stay in order, whichever comes first", () => {
		const lines = ["ERROR: one", "ERROR: two", "ERROR: six"].map((line) => `${"y ".repeat(30)}\n${line}\n`);
		expect(textOf(JSON.stringify(lines.join("")), 90)).toMatch(/one.*two.*six/);
	});
});

describe("a failure deep inside", () => {
	const lines = `${"y ".repeat(400)}\nERROR: full\n${"z ".repeat(400)}`;
	const deep = { name: "a", parts: [{ text: "x".repeat(900) }, { text: lines }] };
	const others = (count: number) => times(count, () => ({ name: "other", text: "w".repeat(300) }));

	it.each([
		[0, 300],
		[0, 700],
		[1, 700],
		[4, 700],
	])("is shown with its parents, after %i others in %i characters", (count, max) => {
		const { text } = shortened([...others(count), deep, ...others(5 - count)], max);
		expect(text.length).toBeLessThanOrEqual(max);
		expect(text).toContain("ERROR: full\\n");
	});

	it("is shown below 48 levels at most", () => {
		const nested = (depth: number) => textOf(`${"[".repeat(depth)}"${"x".repeat(200)}"${"]".repeat(depth)}`, 200);
		expect(nested(48)).toMatch(/^\[{48}"x+~x+"\]{48}$/);
		expect(nested(49)).toBe(`${"[".repeat(49)}{i}${"]".repeat(49)}`);
	});
});

describe("the notice", () => {
	it("is in a third of the room, first of the object or list, and is given the kept characters", () => {
		expect([60, 59].map((max) => textOf(numbers, max, "", "N"))).toEqual([
			...["[{N},10,11,12,13,{i},38,39]", "[10,11,12,13,14,15,16,17,{i},36,37,38,39]"],
		]);
		expect(textOf(keyed, 90, "", "N")).toBe('{N,"keya":"value 0","keyl":"value 11",k}');
		expect(shortened(numbers, 60, "", "N").notices).toEqual(["N", "i"]);
		expect(shortened(numbers, 59, "", "N").notices).toEqual(["i"]);
		expect(textOf(JSON.stringify("x".repeat(200)), 90, "", "N")).not.toContain("N");
		expect(textOf(`[1,${" ".repeat(300)}2]`, 100, "", "N")).toBe("[{N},1,2]");
	});
});

describe("the kept ranges", () => {
	const rangesOf = (text: string, max: number) => shortened(text, max).kept.map(({ start, end }) => `${start}-${end}`);

	it("contain what is between kept values, up to 200 characters of white space", () => {
		expect(rangesOf(JSON.stringify(numbers), 39)).toEqual(["1-12", "85-90"]);
		const spaced = (blanks: number) => `[1,${" ".repeat(blanks)}2]`;
		expect([rangesOf(spaced(199), 9), rangesOf(spaced(200), 9)]).toEqual([["0-204"], ["0-3", "203-205"]]);
		expect(textOf(spaced(200), 9)).toBe("[1,2]");
	});
});

describe("JSON Lines", () => {
	it("stay lines", () => {
		expect(textOf(times(20, (id) => JSON.stringify({ id })).join("\n"), 70)).toBe(
			'{"id":0}\n{"id":1}\n{"id":2}\n{"id":3}\n{i}\n{"id":19}',
		);
	});
});
