import { describe, expect, it } from "vitest";
import { type Rival, rivalPlaceholders, rivalSchedule } from "../../../src/engine/replaying/rivals.ts";
import { answer, type PlainMessage, plainHistory, user } from "./plain-history.ts";

const never = Number.POSITIVE_INFINITY;

/** Results of so many characters, each in a turn of its own; negative for a failed call. */
const turnsOf = (...sizes: readonly number[]): PlainMessage[] =>
	sizes.flatMap((size) => {
		const chars = Math.abs(size);
		const result = { tokens: 50, saves: 40, chars, isError: size < 0 };
		return [answer(), { role: "tool", tokens: 0, results: [result] } as const];
	});

const scheduleOf = (messages: readonly PlainMessage[], rival: Rival) =>
	Array.from(rivalSchedule(plainHistory(messages), rival));

it("the text of each program replaces a result", () => {
	expect(rivalPlaceholders).toEqual({
		clear: "[cleared]",
		last: "Old environment output: (40 lines omitted)",
		opencode: "[Old tool result content cleared]",
		"gemini-cli": expect.stringMatching(/^<tool_output_masked>\n\nOutput too large\. .*\n<\/tool_output_masked>$/),
	});
});

describe("clear", () => {
	const messages = [user(20), ...turnsOf(1, 1, 1, 1, 1), answer()];
	const clear = (trigger: number, keep: number, atLeast: number): Rival => ({ kind: "clear", trigger, keep, atLeast });

	it("acts only over the trigger, and where it frees at least so much", () => {
		// Contexts have 20 + 55 for each turn; masking saves 40.
		expect(scheduleOf(messages, clear(185, 1, 40))).toEqual([9, 9, 9, never, never]);
		expect(scheduleOf(messages, clear(184, 1, 40))).toEqual([7, 7, 11, 11, never]);
		expect(scheduleOf(messages, clear(0, 1, 80))).toEqual([7, 7, 11, 11, never]);
		expect(scheduleOf(messages, clear(0, 1, 81))).toEqual([9, 9, 9, never, never]);
		expect(scheduleOf(messages, clear(0, 5, 1))).toEqual([never, never, never, never, never]);
	});
});

describe("last", () => {
	it("counts the task as the first observation", () => {
		const messages = [user(20), ...turnsOf(1, 1, 1, 1, 1, 1), answer()];
		expect(scheduleOf(messages, { kind: "last", keep: 1, every: 1 })).toEqual([5, 7, 9, 11, 13, never]);
		expect(scheduleOf(messages, { kind: "last", keep: 1, every: 3 })).toEqual([5, 11, 11, 11, never, never]);
		expect(scheduleOf(messages, { kind: "last", keep: 9, every: 1 })).toEqual(Array(6).fill(never));
	});
});

describe("opencode", () => {
	const ask = [answer(), user(9)];
	const opencode: Rival = { kind: "opencode" };
	/** The places that are masked by the end, after two more requests. */
	const maskedOf = (...sizes: readonly number[]) =>
		scheduleOf([user(9), ...turnsOf(...sizes), ...ask, ...ask, ...ask, answer()], opencode).flatMap((moment, place) =>
			moment === never ? [] : [place],
		);

	it("protects 40 000 estimated tokens, of four characters each, and prunes more than 20 000", () => {
		expect(maskedOf(80_004, 160_000)).toEqual([0]);
		expect(maskedOf(80_000, 160_000)).toEqual([]);
		expect(maskedOf(80_000, 4, 160_000)).toEqual([0, 1]);
		expect(maskedOf(80_000, 4, 159_996)).toEqual([]);
		expect(maskedOf(80_004, 4, 159_996)).toEqual([0]);
	});

	it("counts no failed calls, neither as old nor as protected", () => {
		expect(maskedOf(80_004, -400_000, 160_000)).toEqual([0]);
		expect(maskedOf(80_000, -400_000, 160_000)).toEqual([]);
	});

	it("acts at a request of the user, on results older than the last two requests", () => {
		const old = [user(9), ...turnsOf(80_004, 160_000)];
		// Requests are at messages 0, 6, 8 and 10.
		expect(scheduleOf([...old, ...ask, ...ask, ...ask, answer()], opencode)).toEqual([11, never]);
		expect(scheduleOf([...old, ...ask, ...ask, ...ask, ...ask, answer()], opencode)).toEqual([11, never]);
		expect(scheduleOf([...old, ...ask, ...ask, answer()], opencode)).toEqual([never, never]);
		expect(scheduleOf([...old, answer(), ...turnsOf(1), answer(), ...turnsOf(1)], opencode).slice(0, 2)).toEqual([
			never,
			never,
		]);
		const answerWith: PlainMessage = { ...answer(), results: [{ tokens: 50, saves: 40, chars: 400_000 }] };
		const kept = [
			user(9),
			...turnsOf(4),
			answer(),
			user(9),
			answerWith,
			answer(),
			user(9),
			answer(),
			user(9),
			answer(),
		];
		expect(scheduleOf(kept, opencode)).toEqual([never, never]);
		const held: PlainMessage = { role: "user", tokens: 5, results: [{ tokens: 50, saves: 40, chars: 4 }] };
		expect(scheduleOf([...old, answer(), held, answer(), held, answer(), held, answer()], opencode)[0]).toBe(never);
	});
});

describe("gemini-cli", () => {
	const geminiCli: Rival = { kind: "gemini-cli" };

	it("protects 50 000 estimated tokens of all but the newest message, and masks more than 30 000", () => {
		const of = (...sizes: readonly number[]) => scheduleOf([user(9), ...turnsOf(...sizes), answer()], geminiCli);
		expect(of(120_004, 200_000, 4)).toEqual([7, never, never]);
		expect(of(120_000, 200_000, 4)).toEqual([never, never, never]);
		expect(of(120_000, 4, 200_000, 4)).toEqual([9, 9, never, never]);
		expect(of(120_000, 4, 199_996, 4)).toEqual([never, never, never, never]);
		expect(of(120_004, 200_000)).toEqual([never, never]);
		expect(of(-120_004, -200_000, 4)).toEqual([7, never, never]);
	});
});
