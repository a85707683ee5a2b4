import { describe, expect, it } from "vitest";
import {
	childPath,
	itemBeside,
	jsonPointer,
	type Path,
	parseInsertPointer,
	parseJsonPointer,
	resultText,
	valueAt,
	withoutFrame,
	withoutReminders,
} from "../../src/conversation/transcript.ts";
import { resultOf } from "../support/transcripts.ts";

describe("jsonPointer", () => {
	it.each([
		[[], ""],
		[["messages", 0, "content"], "/messages/0/content"],
		[["a/b", "c~d", "~1"], "/a~1b/c~0d/~01"],
		[[""], "/"],
	])("%j is %s", (path, pointer) => {
		expect(jsonPointer(path)).toBe(pointer);
	});
});

describe("parseJsonPointer", () => {
	const document = { list: ["x"], "a/b": { "c~d": 1 }, empty: null, long: [..."abcdefghijkl"] };

	it("finds the path of a value", () => {
		expect(parseJsonPointer("", document)).toEqual([]);
		expect(parseJsonPointer("/list/0", document)).toEqual(["list", 0]);
		expect(parseJsonPointer("/a~1b/c~0d", document)).toEqual(["a/b", "c~d"]);
	});

	it.each(["list", "xlist", "xlist/0", "/list/1", "/list/00", "/list/length", "/none", "/list/0/length", "/empty/x"])(
		"finds nothing at %s",
		(pointer) => {
			expect(parseJsonPointer(pointer, document)).toBeUndefined();
		},
	);

	it("finds the place of an insert up to the end of a list", () => {
		expect(parseInsertPointer("/list/1", document)).toEqual(["list", 1]);
		expect(parseInsertPointer("/0", ["x"])).toEqual([0]);
		expect(parseInsertPointer("/long/12", document)).toEqual(["long", 12]);
		for (const pointer of ["/long/13", "/long/1x", "/list/2", "/list/01", "/list/x", "/a~1b/0", "/none/0"]) {
			expect(parseInsertPointer(pointer, document)).toBeUndefined();
		}
		expect(parseInsertPointer("0", ["x"])).toBeUndefined();
	});

	it("finds the item next to an insert: the one there, or the last one, or the empty list", () => {
		expect(itemBeside(["x", "y"], [0])).toBe("x");
		expect(itemBeside(["x", "y"], [2])).toBe("y");
		expect(itemBeside({ list: [] }, ["list", 0])).toEqual([]);
		expect(itemBeside({ list: "x" }, ["list", 0])).toBeUndefined();
	});
});

describe("childPath", () => {
	it("adds one segment at any depth, and keeps the path unchanged", () => {
		let path: Path = [];
		for (const [depth, segment] of ["messages", 3, "content", 0, "text"].entries()) {
			const child = childPath(path, segment);
			expect(child).toEqual([...path, segment]);
			expect(path).toHaveLength(depth);
			path = child;
		}
	});
});

describe("withoutFrame", () => {
	const framed = { path: [0], text: "old", frame: { before: "<ab>", after: "</a>" } };

	it("is the text within the frame", () => {
		expect(withoutFrame(framed, "<ab>new</a>")).toBe("new");
		expect(withoutFrame(framed, "<ab></a>")).toBe("");
		expect(withoutFrame({ path: [0], text: "old" }, "new")).toBe("new");
	});

	it("finds no frame whose two ends are one text", () => {
		expect(withoutFrame({ ...framed, frame: { before: "aa", after: "aa" } }, "aaa")).toBeUndefined();
		expect(withoutFrame({ ...framed, frame: { before: "aa", after: "aa" } }, "aaaa")).toBe("");
	});

	it.each(["new", "<ab>new", "<ab>something new", "new</a>", "something new</a>", "<ab></a"])(
		"finds no frame in %s",
		(text) => {
			expect(withoutFrame(framed, text)).toBeUndefined();
		},
	);
});

describe("resultText", () => {
	it("is all texts of a result", () => {
		const [one] = resultOf("a", "x").texts;
		expect(resultText(resultOf("a", "x"))).toBe("x");
		expect(resultText({ ...resultOf("a"), texts: [one, { ...one, text: "y" }] as never })).toBe("x\ny");
		expect(resultText({ ...resultOf("a"), texts: [] })).toBe("");
	});
});

describe("withoutReminders", () => {
	const reminder = "<system-reminder>\n<total_tokens>1</total_tokens>\n</system-reminder>";

	it("removes reminders at the end of a text only", () => {
		expect(withoutReminders(`a ${reminder} b`)).toBe(`a ${reminder} b`);
		expect(withoutReminders(`a ${reminder} b\n\n${reminder}\n${reminder} \n`)).toBe(`a ${reminder} b\n\n`);
		expect(withoutReminders("no beginning </system-reminder>")).toBe("no beginning </system-reminder>");
		expect(withoutReminders(reminder)).toBe("");
	});

	it("takes time in proportion to the text", () => {
		expect(withoutReminders(`a${reminder.repeat(20_000)}`)).toBe("a");
		expect(withoutReminders(`<system-reminder>${"</system-reminder>".repeat(50_000)}`)).toBe("");
	}, 2_000);
});

describe("valueAt", () => {
	const document = { list: [{ text: "x" }], empty: null };

	it("follows keys and indexes", () => {
		expect(valueAt(document, ["list", 0, "text"])).toBe("x");
		expect(valueAt(document, [])).toBe(document);
	});

	it.each([[["list", 1]], [["none"]], [["empty", "x"]], [["toString"]], [["list", 0, "text", 0]]])(
		"finds nothing at %j",
		(path) => {
			expect(valueAt(document, path)).toBeUndefined();
		},
	);
});
