import { afterAll, describe, expect, it } from "vitest";
import { resultText, type Transcript } from "../../../src/engine/conversation/transcript.ts";
import { pairResults, toolTurns } from "../../../src/engine/conversation/turns.ts";
import { findIdentifiers } from "../../../src/engine/masking/identifiers.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { realTranscripts } from "../../real/real-transcripts.ts";
import { hasRealData } from "../../support/real-conversations.ts";
import { digestsOf } from "./digests.ts";

const countTokens = await loadCounter("o200k_base");

const windowTurns = 8;

/** Shorter results than this, in tokens, are no longer than their placeholder. */
const leastMasked = 60;

interface Tally {
	/** Identifiers that an assistant message uses and that stand in results only, before it. */
	used: number;
	inView: number;
	/** Of the others, those that a digest names. */
	inDigests: number;
	masked: number;
	tokens: number;
}

const namesIn = (texts: readonly string[]) =>
	new Set(texts.flatMap((text) => findIdentifiers(text).map((one) => one.text)));

interface Prepared {
	readonly transcript: Transcript;
	readonly turns: readonly number[];
	readonly results: readonly { message: number; caller: number; names: ReadonlySet<string>; tokens: number }[];
	readonly namesOfMessages: readonly ReadonlySet<string>[];
}

function prepare(transcript: Transcript): Prepared {
	const results = pairResults(transcript).map(({ result, message, caller = Number.POSITIVE_INFINITY }) => {
		const text = resultText(result);
		return { message, caller, names: namesIn([text]), tokens: countTokens(text) };
	});
	const namesOfMessages = transcript.messages.map(({ counted }) => namesIn(counted));
	return { transcript, turns: toolTurns(transcript), results, namesOfMessages };
}

/** Masks with a window that slides at each call, and looks up what each call uses. */
function replay(prepared: Prepared, maxTokens: number, tally: Tally): void {
	const { transcript, turns, results, namesOfMessages } = prepared;
	const digests = digestsOf({ transcript, maxTokens, countTokens });
	const standing = new Set(namesIn(transcript.surroundings));
	const held = new Set<string>();
	/** In how many results in view a name stands. */
	const inView = new Map<string, number>();
	const inDigests = new Set<string>();
	let [arrived, nextTurn] = [0, 0];
	const waiting = new Set<number>();
	const mask = (place: number) => {
		const { names, tokens } = results[place] as Prepared["results"][number];
		if (tokens < leastMasked) return;
		for (const name of names) inView.set(name, (inView.get(name) ?? 0) - 1);
		const digest = digests[place] ?? "";
		tally.masked += 1;
		tally.tokens += countTokens(digest);
		for (const name of digest.split(/,? /)) inDigests.add(name);
	};
	transcript.messages.forEach(({ role }, index) => {
		const firstKept = turns[Math.max(0, nextTurn - windowTurns)] ?? 0;
		if (turns[nextTurn] === index) nextTurn += 1;
		if (role === "assistant") {
			for (const place of waiting) {
				if ((results[place]?.caller ?? 0) >= firstKept) continue;
				waiting.delete(place);
				mask(place);
			}
			for (const name of namesOfMessages[index] ?? []) {
				if (standing.has(name) || !held.has(name)) continue;
				tally.used += 1;
				if ((inView.get(name) ?? 0) > 0) tally.inView += 1;
				else if (inDigests.has(name)) tally.inDigests += 1;
			}
		}
		for (const name of namesOfMessages[index] ?? []) standing.add(name);
		for (; (results[arrived]?.message ?? Number.POSITIVE_INFINITY) <= index; arrived += 1) {
			waiting.add(arrived);
			for (const name of results[arrived]?.names ?? []) {
				held.add(name);
				inView.set(name, (inView.get(name) ?? 0) + 1);
			}
		}
	});
}

const sizes = [0, 25, 50, 100];

const tallies = new Map<number, Tally>();

describe.skipIf(!hasRealData)("identifiers saved by digests, on real conversations of 20 tool turns or more", () => {
	let conversations = 0;
	for (const size of sizes) tallies.set(size, { used: 0, inView: 0, inDigests: 0, masked: 0, tokens: 0 });
	for (const { transcript } of realTranscripts()) {
		if (toolTurns(transcript).length < 20) continue;
		conversations += 1;
		const prepared = prepare(transcript);
		for (const [size, tally] of tallies) replay(prepared, size, tally);
	}

	it.each([
		[25, 0.4],
		[50, 0.6],
		[100, 0.75],
	])("digests of %d tokens save more than %d of the identifiers lost by a window of 8", (size, least) => {
		const { used, inView, inDigests, masked, tokens } = tallies.get(size) as Tally;
		expect(conversations).toBeGreaterThan(40);
		expect(used - inView).toBeGreaterThan(200);
		expect(inDigests / (used - inView)).toBeGreaterThan(least);
		expect(tokens).toBeLessThanOrEqual(masked * size);
	});

	afterAll(() => {
		process.stdout.write("digest   used   in view   with digests   saved of lost   tokens a masked result\n");
		for (const [size, { used, inView, inDigests, masked, tokens }] of tallies) {
			const cells = [inView / used, (inView + inDigests) / used, inDigests / (used - inView), tokens / masked];
			process.stdout.write(`${`${size}`.padStart(6)} ${used} ${cells.map((cell) => cell.toFixed(3)).join("   ")}\n`);
		}
	});
});
