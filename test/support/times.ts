import { fc } from "@fast-check/vitest";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";

export interface Timing {
	/** Seconds before each message, in turn; `undefined` for a message without a time. */
	readonly gaps: readonly (number | undefined)[];
	/** What the usage of each answer says about its cache, in turn; `undefined` for an answer without usage. */
	readonly lifetimes: readonly (number | undefined)[];
}

/** Mostly short pauses, some over five minutes or an hour, clocks that go back, messages without a time. */
export const timings: fc.Arbitrary<Timing> = fc.record({
	gaps: fc.array(fc.constantFrom(2, 5, 30, 170, 301, 3_000, 4_000, -50, undefined), { minLength: 1, maxLength: 9 }),
	lifetimes: fc.array(fc.constantFrom(undefined, 300, 3_600), { minLength: 1, maxLength: 3 }),
});

/** The transcript with a time at each message. */
export function withTimes(transcript: Transcript, { gaps, lifetimes }: Timing): Transcript {
	let seconds = 1_700_000_000;
	const messages = transcript.messages.map((message, index) => {
		const gap = gaps[index % gaps.length];
		seconds += gap ?? 0;
		const cacheSeconds = message.role === "assistant" ? lifetimes[index % lifetimes.length] : undefined;
		return {
			...message,
			...(gap === undefined ? {} : { time: seconds * 1_000 }),
			...(cacheSeconds === undefined ? {} : { usage: { inputTokens: 10, cachedTokens: 0, cacheSeconds } }),
		};
	});
	return { ...transcript, messages };
}
