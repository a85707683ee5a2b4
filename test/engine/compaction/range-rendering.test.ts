import { describe, expect, it } from "vitest";
import { packPieces, pickRange, renderRange, splitInTwo } from "../../../src/engine/compaction/range.ts";
import type { MediaNode, Message } from "../../../src/engine/conversation/transcript.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const countTokens = (text: string) => text.length;

const said = (text: string, role: Message["role"] = "user") => messageOf({ role, counted: [text] });

function rendered(messages: readonly Message[], given: Partial<Parameters<typeof renderRange>[0]> = {}) {
	return renderRange({
		transcript: transcriptOf(...messages),
		messages: messages.map((_, index) => index),
		budget: 1_000_000,
		countTokens,
		marker: "[{omitted_chars}]",
		...given,
	});
}

describe("how much of a text is shown", () => {
	const call = messageOf({ counted: ["ls", "x".repeat(5_000)], calls: [{ id: "a", name: "ls" }] });
	const result = messageOf({ role: "tool", results: [resultOf("a", "x".repeat(5_000))] });
	const shownOf = (messages: readonly Message[], given?: Parameters<typeof rendered>[1]) => {
		const { text, shortened } = rendered(messages, given);
		const xs = text.match(/x+/g)?.map((run) => run.length);
		return [...(xs ?? []), shortened];
	};

	it("is eight times as much as of a result, and half as much of a call", () => {
		expect(shownOf([said("x".repeat(16_000))])).toEqual([16_000, 0]);
		expect(shownOf([said("x".repeat(20_000))])).toEqual([8_000, 8_000, 1]);
		expect(shownOf([call, result])).toEqual([500, 500, 1_000, 1_000, 2]);
		expect(shownOf([call, result], { resultChars: 801 })).toEqual([200, 200, 400, 400, 2]);
	});

	it("is halved up to five times, down to a least number of characters", () => {
		const long = [said("x".repeat(20_000))];
		const sizes = [16_000, 8_000, 4_000, 2_000, 1_000, 500];
		for (const [halving, size] of sizes.entries()) {
			const { tokens } = rendered(long, { budget: size + 20 });
			expect(tokens).toBe("[0] user:\n".length + size + `[${20_000 - size}]`.length);
			expect(rendered(long, { budget: tokens }).tokens).toBe(tokens);
			const less = rendered(long, { budget: tokens - 1 });
			if (halving < 5) expect(less.tokens).toBeLessThan(tokens / 1.9);
			else expect(less).toMatchObject({ text: "[... 1 messages ...]", leftOut: 1, shortened: 1 });
		}
		expect(shownOf(long, { resultChars: 64, budget: 430 })).toEqual([200, 200, 1]);
		expect(shownOf([call, result], { budget: 374 })).toEqual([100, 100, 60, 60, 2]);
	});
});

describe("messages that are left out", () => {
	/** Each is 98 characters, 100 with the separator. */
	const ten = Array.from({ length: 10 }, (_, index) => said(`${index}`.repeat(88)));
	const shown = (budget: number, count = countTokens) => {
		const { pieces, text, tokens, leftOut, shortened } = rendered(ten, { budget, countTokens: count });
		expect(text).toBe(pieces.join("\n\n"));
		expect(tokens).toBe(count(text));
		expect(shortened).toBe(0);
		const names = pieces.map((piece) => /^\[(\d) *\] user/.exec(piece)?.[1] ?? piece.replace(/\D+/g, "gap"));
		return `${names.join(" ")} (${leftOut})`;
	};

	it("are those after a quarter of the budget and before the newest that fit", () => {
		expect(shown(998)).toBe("0 1 2 3 4 5 6 7 8 9 (0)");
		expect(shown(997)).toBe("0 1 gap1gap 3 4 5 6 7 8 9 (1)");
		expect(shown(823)).toBe("0 1 gap2gap 4 5 6 7 8 9 (2)");
		expect(shown(822)).toBe("0 gap3gap 4 5 6 7 8 9 (3)");
		expect(shown(423)).toBe("0 gap6gap 7 8 9 (6)");
		expect(shown(422)).toBe("gap7gap 7 8 9 (7)");
		expect(shown(123)).toBe("gap9gap 9 (9)");
		expect(shown(122)).toBe("gap10gap (10)");
		expect(shown(21)).toBe("gap10gap (10)");
	});

	it("are more, the oldest first, if all together take more than each alone", () => {
		const dearer = (most: number) => (text: string) => (text.length > most ? 2 * text.length : text.length);
		expect(shown(1_900, dearer(500))).toBe("0 1 2 gap1gap 4 5 6 7 8 9 (1)");
		expect(shown(1_100, dearer(500))).toBe("gap5gap 5 6 7 8 9 (5)");
		expect(shown(997, dearer(900))).toBe("0 gap2gap 3 4 5 6 7 8 9 (2)");
		expect(shown(450, dearer(250))).toBe("gap8gap 8 9 (8)");
	});

	it("are all, if nothing fits", () => {
		expect(rendered(ten, { budget: 20 })).toEqual({ pieces: [], text: "", tokens: 0, shortened: 0, leftOut: 10 });
		expect(rendered(ten, { budget: 997, countTokens: (text) => (text === "" ? 0 : 1_000) })).toEqual({
			pieces: [],
			text: "",
			tokens: 0,
			shortened: 0,
			leftOut: 10,
		});
		expect(rendered([], { budget: 0 })).toEqual({ pieces: [], text: "", tokens: 0, shortened: 0, leftOut: 0 });
	});

	it("are those that say nothing, and those that are not in the conversation", () => {
		expect(rendered([said("a"), said(" \n"), said("b")], { messages: [0, 1, 2, 7] }).text).toBe(
			"[0] user:\na\n\n[2] user:\nb",
		);
	});
});

it("an earlier summary alone counts for its message", () => {
	const thinking = [{ path: [], text: "thought", bound: true }];
	const framed = messageOf({ role: "user", counted: ["thought", "framed"], thinking });
	const { text } = rendered([said("a"), framed], { summaryOf: (index) => (index === 1 ? "thought" : undefined) });
	expect(text).toBe("[0] user:\na\n\n[1] summary of what came before:\nthought");
});

describe("the parts of a message", () => {
	const image: MediaNode = {
		path: [],
		kind: "image",
		mediaType: "image/png",
		bytes: 12,
		dimensions: undefined,
		tokens: 85,
		write: (text) => text,
	};
	/** The lines of the last message, below its heading. */
	const linesOf = (...messages: readonly Message[]) =>
		rendered(messages, { messages: [messages.length - 1] })
			.text.split("\n")
			.slice(1);

	it("are texts without reasoning, once for each thought", () => {
		const thinking = [{ path: [], text: "same", bound: true }];
		expect(linesOf(messageOf({ counted: ["same", "said", "same", " "], thinking }))).toEqual(["said", "same"]);
	});

	it("are calls with their arguments, by name alone if these are not known", () => {
		const calls = [
			{ id: "a", name: "ls" },
			{ id: "b", name: "<|x|>" },
			{ id: "c", name: "" },
		];
		expect(linesOf(messageOf({ counted: ["Look.", "ls", ' {"path":"src"} '], calls }))).toEqual([
			"Look.",
			'-> ls {"path":"src"}',
			"-> |x|",
			"-> ?",
		]);
		expect(rendered([messageOf({ calls })]).text).toBe("[0] assistant:\n-> ls\n-> |x|\n-> ?");
	});

	it("are results with the name of their call, and whether they failed", () => {
		const calls = messageOf({ calls: [{ id: "a", name: "ls" }] });
		const failing = (isError: boolean | undefined) => ({ ...resultOf("a", "text"), isError });
		const of = (isError?: boolean) => linesOf(calls, messageOf({ role: "tool", results: [failing(isError)] }));
		expect(of(true)).toEqual(["<- ls (error)", "text"]);
		expect(of(false)).toEqual(["<- ls", "text"]);
		expect(of()).toEqual(["<- ls", "text"]);
		expect(linesOf(messageOf({ role: "tool", results: [resultOf("x", "")] }))).toEqual(["<- ?"]);
		expect(rendered([calls, messageOf({ role: "tool", results: [resultOf("a", "")] })]).text).toBe(
			"[0] assistant:\n-> ls\n\n[1] tool:\n<- ls",
		);
	});

	it("name media: in a result with the result, elsewhere by themselves", () => {
		const named = ["[media: image/png, 12 B]", "[media: image/png, 12 B]"];
		const withMedia = (text: string) => messageOf({ results: [{ ...resultOf("a", text), media: [image, image] }] });
		expect(linesOf({ ...withMedia("text"), mediaTokens: 170 })).toEqual(["<- ?", "text", ...named]);
		expect(linesOf({ ...withMedia(""), mediaTokens: 171 })).toEqual(["[media]", "<- ?", ...named]);
		expect(linesOf(messageOf({ mediaTokens: 1 }))).toEqual(["[media]"]);
		expect(linesOf(messageOf({}))).toEqual([]);
	});
});

describe("the range where user and assistant must alternate", () => {
	const user = messageOf({ role: "user" });
	const assistant = messageOf({});
	const unsent = (message: Message) => ({ ...message, sent: false });
	const picked = (keepLastMessages: number, messages: readonly Message[], pinTask = true) =>
		pickRange({ transcript: { ...transcriptOf(...messages), inTurn: true }, keepLastMessages, pinTask })?.messages;

	it("leaves the last answer out only between two messages of the user", () => {
		expect(picked(1, [user, assistant, user, assistant, user])).toEqual([1, 2]);
		expect(picked(1, [user, assistant, user, assistant, assistant])).toEqual([1, 2, 3]);
		expect(picked(1, [assistant, assistant, user, assistant, user], false)).toEqual([0, 1, 2, 3]);
		expect(picked(0, [user, assistant, user])).toEqual([1, 2]);
		expect(picked(1, [user, assistant, user, user])).toBeUndefined();
	});

	it("skips messages that are no longer sent", () => {
		expect(picked(1, [user, assistant, user, assistant, unsent(assistant), user])).toEqual([1, 2]);
		expect(picked(1, [user, assistant, user, assistant, unsent(user), assistant])).toEqual([1, 2, 3]);
	});

	it("takes whole groups, and none where there is nothing", () => {
		const call = messageOf({ calls: [{ id: "a", name: "ls" }] });
		const result = messageOf({ role: "tool", results: [resultOf("a")] });
		expect(picked(1, [user, assistant, user, call, result, user])).toEqual([1, 2]);
		expect(picked(1, [user, call, result, assistant, user])).toEqual([1, 2]);
		expect(picked(1, [assistant, user, assistant, user], false)).toEqual([0, 1, 2]);
		expect(picked(1, [user, user])).toBeUndefined();
	});
});

it("a range without a user message, or with a pinned one after it", () => {
	const [user, plain] = [messageOf({ role: "user" }), messageOf({})];
	const picked = (pinTask: boolean, ...messages: readonly Message[]) =>
		pickRange({ transcript: transcriptOf(...messages), keepLastMessages: 1, pinTask })?.messages;
	expect(picked(true, plain, plain, plain)).toEqual([0, 1]);
	expect(picked(true, plain, plain, user, plain)).toBeUndefined();
	expect(picked(false, plain, plain, user, plain)).toEqual([0, 1, 2]);
	expect(picked(true, { ...user, sent: false }, plain, user, plain, plain)).toEqual([3]);
	const transcript = transcriptOf(user, plain, plain);
	for (const keepLastMessages of [-1, 0]) {
		expect(pickRange({ transcript, keepLastMessages, pinTask: true })?.messages).toEqual([1, 2]);
	}
});

describe("parts", () => {
	it("of two are split where half of the characters are", () => {
		expect(splitInTwo(["a", "a", "a"])).toEqual([["a", "a"], ["a"]]);
		expect(splitInTwo(["aa", "bb"])).toEqual([["aa"], ["bb"]]);
		expect(splitInTwo(["aaaaaa", "b", "c"])).toEqual([["aaaaaa"], ["b", "c"]]);
		expect(splitInTwo(["a", "b", "cccccc"])).toEqual([["a", "b"], ["cccccc"]]);
		expect(splitInTwo(["", "", ""])).toEqual([["", ""], [""]]);
		expect(splitInTwo(["aa", "bbbb", "c", "d"])).toEqual([
			["aa", "bbbb"],
			["c", "d"],
		]);
	});

	it("of at most a budget are filled in order", () => {
		const packed = (lengths: readonly number[], budget: number) =>
			packPieces(
				lengths.map((length) => "x".repeat(length)),
				(piece) => piece.length,
				budget,
			).map((part) => part.map((piece) => piece.length));
		expect(packed([2, 3, 1, 6, 0, 5, 0], 5)).toEqual([[2, 3], [1], [6], [0, 5, 0]]);
		expect(packed([0, 0], 5)).toEqual([[0, 0]]);
		expect(packed([3, 3, 3], 5)).toEqual([[3], [3], [3]]);
		expect(packed([7, 1], 5)).toEqual([[7], [1]]);
		expect(packed([], 5)).toEqual([]);
	});
});
