import { describe, expect, it } from "vitest";
import { writeWords } from "../../../src/engine/compaction/kept-words.ts";
import { frameSummary } from "../../../src/engine/compaction/summary.ts";
import { addSizes, type Size } from "../../../src/engine/conversation/plan.ts";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { planDropWithWords } from "../../../src/engine/guarding/moved-words.ts";
import { policyOf } from "../../support/policy-of.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

interface Given {
	/** Tokens of each message. */
	readonly tokens: readonly number[];
	/** By message, what a person wrote; the others are answers. The first is the task, which stays. */
	readonly words: Readonly<Record<number, string>>;
	readonly budget: number;
	/** Tokens of the message that holds the words. */
	readonly joined: (text: string) => number;
	readonly most?: number;
	readonly ratio?: number;
	/** By message, what earlier steps saved. */
	readonly savedBefore?: Readonly<Record<number, number>>;
	readonly task?: string;
	/** Whether texts are parts of messages, and may be added to one. */
	readonly inParts?: boolean;
	/** Fields of some messages of the transcript. */
	readonly fields?: Readonly<Record<number, Partial<Message>>>;
}

const isJoined = (text: string) => text.startsWith("What the user wrote");

const partOf = (text: string) => ({ type: "text", text });

function plannedDrop(given: Given) {
	const { tokens, words, budget, most = 100_000, ratio, savedBefore = {}, task = "T", fields = {} } = given;
	const document = tokens.map((_, index) => {
		const text = index === 0 ? task : words[index];
		if (text === undefined) return { role: "assistant", content: "a" };
		return { role: "user", content: given.inParts ? [partOf(text)] : text };
	});
	const sizes = tokens.map((one): Size => ({ chars: one, tokens: one }));
	const current = tokens.map((one, index) => ({ chars: one, tokens: one - (savedBefore[index] ?? 0) }));
	const within = (limit: number) => (context: Size) => context.tokens <= limit;
	const transcript = transcriptFrom(document);
	const messages = transcript.messages.map((message, index) => ({ ...message, ...fields[index] }));
	return planDropWithWords({
		transcript: { ...transcript, messages },
		policy: policyOf({ guard: { keep_last_messages: 1 } }).guard,
		measurement: { messages: sizes, surroundingTokens: 0, total: sizes.reduce(addSizes) },
		meter: { countTokens: (text) => (isJoined(text) ? given.joined(text) : text.length), messageOverhead: 0 },
		excess: (context) => Math.max(0, context.tokens - budget),
		isPlaceholder: () => false,
		editedWith: () => ({ left: current.reduce(addSizes), sizes: current }),
		keeping: {
			document,
			base: [],
			writer: {
				message: ({ text: content }) => ({ role: "user", content }),
				...(given.inParts ? { part: { lists: [["content"]], key: "text", write: partOf } } : {}),
				appends: true,
			},
			locale: "en",
			most,
		},
		...(ratio === undefined
			? { sizes: current }
			: { hysteresis: { reachesTarget: within(ratio * budget), reliefs: new Map() } }),
	});
}

/** How many messages go; the first of them becomes the words. */
function gone(given: Given): number {
	const { edits } = plannedDrop(given);
	expect(edits.map(({ message }) => message)).toEqual(edits.map((_, index) => index + 1));
	const kinds = edits.map(({ kind, reason }) => `${kind} for ${reason}`);
	const first = Object.keys(given.words).some((at) => Number(at) <= edits.length)
		? "replace for summary"
		: "remove for drop";
	expect(kinds).toEqual(kinds.map((_, index) => (index === 0 ? first : "remove for drop")));
	return edits.length;
}

const same = (count: number, tokens: number) => new Array<number>(count).fill(tokens);

describe("more is dropped if the words take more room than expected", () => {
	it("once more, with as much room as was missing and 32 tokens", () => {
		const given = { tokens: same(40, 10), words: { 1: "Word." }, joined: () => 100 };
		// At first 11 go, so that 400 - 110 + 100 are left: 89 or 90 too many.
		expect(gone({ ...given, budget: 301 })).toBe(23);
		expect(gone({ ...given, budget: 300 })).toBe(23);
		expect(gone({ ...given, budget: 390 })).toBe(14);
		expect(gone({ ...given, budget: 301, joined: () => 7 })).toBe(11);
	});

	it("again and again, with twice the room each time", () => {
		const words = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [2 * index + 1, "Word."]));
		const joined = (text: string) => 60 * (text.split("Word.").length - 1);
		// 11 leave 260 too many, 14 leave 20: one more goes, so that no user message meets another one.
		expect(gone({ tokens: same(40, 100), words, joined, budget: 3_000 })).toBe(15);
	});

	it("six times at most, and nothing at all if it saves nothing", () => {
		const given = { tokens: same(4, 10), words: { 1: "Word." }, budget: 5 };
		let asked = 0;
		const counting = (tokens: number) => () => {
			asked += 1;
			return tokens;
		};
		expect(gone({ ...given, joined: counting(19) })).toBe(2);
		expect(asked).toBe(6);
		expect(gone({ ...given, joined: () => 20 })).toBe(0);
		expect(gone({ ...given, joined: () => 1_000_000 })).toBe(0);
	});

	it("also down to a target", () => {
		const given = { tokens: same(40, 10), words: { 1: "Word." }, budget: 301, ratio: 0.9 };
		expect([7, 50, 100, 150].map((one) => gone({ ...given, joined: () => one }))).toEqual([13, 17, 21, 29]);
	});
});

describe("the message of the words", () => {
	const given = { tokens: same(20, 100), words: { 2: "Word.", 3: "More." }, joined: () => 10, budget: 1_600 };
	const edited = (more: Partial<Given>) =>
		plannedDrop({ ...given, ...more }).edits.map(({ kind, reason, message }) => `${kind} ${reason} ${message}`);

	it("is in the place of the first message that had words", () => {
		expect(edited({})).toEqual([
			"remove drop 1",
			"replace summary 2",
			"remove drop 3",
			"remove drop 4",
			"remove drop 5",
		]);
	});

	it("is a part of the task where the API wants user and assistant in turn", () => {
		const { edits } = plannedDrop({ ...given, inParts: true });
		expect(edits.map(({ kind, reason, message }) => `${kind} ${reason} ${message}`)).toEqual([
			"insert summary 0",
			...[1, 2, 3, 4, 5].map((message) => `remove drop ${message}`),
		]);
		expect(edits[0]).toMatchObject({
			path: [0, "content", 1],
			value: partOf(writeWords(["Word.", "More."], "en") ?? ""),
		});
	});

	it("takes in the words of an earlier drop, where these come first", () => {
		const task = writeWords(["Task."], "en") ?? "";
		expect(edited({ task })).toEqual([
			"replace summary 0",
			...[1, 2, 3, 4, 5].map((message) => `remove drop ${message}`),
		]);
		const { edits } = plannedDrop({ ...given, task });
		expect(edits[0]).toHaveProperty("replacement.content", writeWords(["Task.", "Word.", "More."], "en"));
	});

	it("leaves words after the dropped messages, words no longer sent, and summaries where they are", () => {
		const alone = writeWords(["Alone."], "en") ?? "";
		const edits = edited({});
		expect(edited({ words: { ...given.words, 15: alone } })).toEqual(edits);
		expect(edited({ task: alone, fields: { 0: { sent: false } } })[0]).toBe("remove drop 1");
		for (const words of [["Above."], []]) {
			const task = frameSummary({ summary: words.length === 0 ? "" : "So far.", locale: "en", words });
			expect(edited({ task })).toEqual(edits);
		}
	});

	it("is one of several values, and the others go with it", () => {
		const paths = [[2], [20]];
		const edits = edited({ fields: { 2: { paths } } });
		expect(edits.slice(0, 4)).toEqual(["remove drop 1", "replace summary 2", "remove summary 2", "remove drop 3"]);
	});
});

describe("the room that is expected", () => {
	it("counts the texts whole up to the ceiling, and cut from there", () => {
		const long = "x".repeat(1_000);
		const given = { tokens: same(30, 500), words: { 1: long, 2: long, 3: long }, joined: () => 0 };
		// Whole texts take 1 002 each; cut ones some 630.
		const goneWith = (most: number) => gone({ ...given, most, budget: 12_000 });
		expect([1_001, 1_002, 2_003, 2_004].map(goneWith)).toEqual([11, 11, 12, 12]);
	});

	it("is none for messages without words", () => {
		expect(gone({ tokens: same(10, 10), words: {}, joined: () => 1_000, budget: 60 })).toBe(4);
		expect(gone({ tokens: same(10, 10), words: { 8: "Word." }, joined: () => 1_000, budget: 60 })).toBe(4);
	});
});

it("savings of earlier steps in dropped messages are not counted twice", () => {
	const given = { tokens: same(20, 100), words: { 1: "Word." }, joined: () => 7 };
	expect(gone({ ...given, budget: 1_507 })).toBe(5);
	expect(gone({ ...given, budget: 1_507, savedBefore: { 2: 40 } })).toBe(5);
	expect(gone({ ...given, budget: 1_506, savedBefore: { 2: 40 } })).toBe(6);
	expect(gone({ ...given, budget: 1_467, savedBefore: { 15: 40 } })).toBe(5);
	expect(gone({ ...given, budget: 1_466, savedBefore: { 15: 40 } })).toBe(6);
});
