import { describe, expect, it } from "vitest";
import { measure, sizeOfMedia, sizeOfResult } from "../../../src/engine/conversation/measure.ts";
import { createTextMemory } from "../../../src/engine/conversation/text-memory.ts";
import {
	editablePaths,
	inFrame,
	type MediaNode,
	repeatedPlaces,
	resultCharacters,
	resultContent,
	resultText,
	type ToolResult,
	withoutFrame,
	withoutReminders,
} from "../../../src/engine/conversation/transcript.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const write = (text: string) => text;
const image: MediaNode = {
	...{ kind: "image", mediaType: undefined, bytes: undefined, dimensions: undefined, tokens: 85, write },
	path: ["m", 3, "content", 1],
};
const repeated: ToolResult = {
	...resultOf("a", "text"),
	texts: [{ path: ["m", 3, "content", 0], text: "text" }],
	whole: { path: ["m", 3, "content"], write },
	copies: [{ path: ["m", 3, "copy"], text: "text" }],
	media: [image],
	repeats: [
		["m", 7],
		["m", 9],
	],
};

describe("the places of a result", () => {
	it("are its texts, its media, its content and copies, and the same in each of its repeats", () => {
		expect(editablePaths(repeated)).toEqual([
			...[
				["m", 3, "content", 0],
				["m", 3, "content", 1],
				["m", 3, "content"],
				["m", 3, "copy"],
			],
			...[
				["m", 7, "content", 0],
				["m", 9, "content", 0],
				["m", 7, "content", 1],
				["m", 9, "content", 1],
			],
			...[
				["m", 7, "content"],
				["m", 9, "content"],
			],
		]);
		expect(editablePaths(resultOf("a"))).toEqual([["content"]]);
	});

	it("are repeated only within the value that is repeated", () => {
		expect(repeatedPlaces(repeated, ["m", 3, "content", 0])).toEqual([
			["m", 7, "content", 0],
			["m", 9, "content", 0],
		]);
		expect(repeatedPlaces(resultOf("a"), ["content"])).toEqual([]);
		expect(repeatedPlaces(repeated, ["m", 4, "content"])).toEqual([]);
		const textAlone = { ...repeated, whole: undefined };
		expect(repeatedPlaces(textAlone, ["m", 3, "content", 0])).toHaveLength(2);
		const imageAlone = { ...textAlone, texts: [] };
		expect(repeatedPlaces(imageAlone, ["m", 3, "content", 1])).toHaveLength(2);
		expect(repeatedPlaces({ ...imageAlone, media: [] }, ["m", 3, "content", 1])).toEqual([]);
		const wholeAlone = { ...repeated, texts: [], media: [] };
		expect(repeatedPlaces(wholeAlone, ["m", 3, "content"])).toHaveLength(2);
		expect(repeatedPlaces(repeated, ["m", 3, "copy"])).toEqual([
			["m", 7, "copy"],
			["m", 9, "copy"],
		]);
	});
});

describe("the text of a result", () => {
	it("is framed again, counted in characters, and read without reminders", () => {
		const framed = { path: [0], text: "old", frame: { before: "<", after: ">" } };
		expect([inFrame(framed, "new"), inFrame({ path: [0], text: "old" }, "new")]).toEqual(["<new>", "new"]);
		const two = { ...resultOf("a"), texts: ["one", "three"].map((text) => ({ path: [0], text })) };
		expect(resultCharacters(two)).toBe(8);
		expect(resultContent(resultOf("a", "done<system-reminder>x</system-reminder>\n"))).toBe("done");
	});
});

describe("the size", () => {
	const meter = { countTokens: roughCount, messageOverhead: 4 };

	it("of a message that is no longer sent is 0", () => {
		const unsent = messageOf({ sent: false, counted: ["12345678"], mediaTokens: 9, results: [resultOf("a", "1")] });
		expect(measure(transcriptOf(unsent, messageOf({ sent: true })), meter)).toEqual({
			messages: [
				{ chars: 0, tokens: 0 },
				{ chars: 0, tokens: 4, fixed: 4 },
			],
			surroundingTokens: 0,
			total: { chars: 0, tokens: 4, fixed: 4 },
		});
	});

	it("includes the provider's own addition to each request", () => {
		const { total, surroundingTokens } = measure({ ...transcriptOf(), surroundings: ["12345678"] }, meter, 30);
		expect(total).toEqual({ chars: 8, tokens: 32, fixed: 30 });
		expect(surroundingTokens).toBe(32);
	});

	it("of an image is fixed, but for the text in it", () => {
		expect(sizeOfMedia(image, roughCount)).toEqual({ chars: 0, tokens: 85, fixed: 85 });
		const texts = ["12345678", "1234"].map((text) => ({ path: [0], text }));
		expect(sizeOfMedia({ ...image, texts }, roughCount)).toEqual({ chars: 12, tokens: 88, fixed: 85 });
	});

	it("is counted once by the same meter, and again by another", () => {
		let counted = 0;
		const counting = () => (text: string) => {
			counted += 1;
			return text.length;
		};
		const [one, other] = [counting(), counting()];
		const result = resultOf("a", "12345");
		expect([sizeOfResult(result, one), sizeOfResult(result, one)]).toEqual(Array(2).fill({ chars: 5, tokens: 5 }));
		expect(counted).toBe(1);
		sizeOfResult(result, other);
		sizeOfResult(resultOf("a", "12345"), one);
		expect(counted).toBe(3);
	});
});

describe("a memory of texts", () => {
	it("holds facts of the latest texts, short and long", () => {
		const memory = createTextMemory<number>();
		const [short, long] = ["x".repeat(16_000), "x".repeat(16_001)];
		expect([memory.find(short), memory.find(long)]).toEqual([undefined, undefined]);
		memory.remember(short, 1);
		memory.remember(long, 2);
		expect([memory.find(short), memory.find(long), memory.find(`y${long.slice(1)}`)]).toEqual([1, 2, undefined]);
		memory.remember(long, 3);
		expect(memory.find(long)).toBe(3);
	});

	it("is full at its number of characters, and remembers nothing more", () => {
		const memory = createTextMemory<number>(10);
		memory.remember("12345", 1);
		expect(memory.isFull()).toBe(false);
		memory.remember("123456", 2);
		expect(memory.isFull()).toBe(true);
		memory.remember("1", 3);
		expect([memory.find("123456"), memory.find("1")]).toEqual([2, undefined]);
		const exact = createTextMemory<number>(5);
		exact.remember("12345", 1);
		expect(exact.isFull()).toBe(true);
	});
});

describe("withoutFrame", () => {
	const framed = { path: [0], text: "old", frame: { before: "<ab>", after: "</a>" } };

	it("is the text within the frame", () => {
		expect(withoutFrame(framed, "<ab>new</a>")).toBe("new");
		expect(withoutFrame(framed, "<ab></a>")).toBe("");
		expect(withoutFrame({ path: [0], text: "old" }, "new")).toBe("new");
	});

	it("finds no frame with one text for both ends", () => {
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
