import { addToList } from "../conversation/lists.ts";
import { resultCharacters, resultContent, type Transcript } from "../conversation/transcript.ts";
import { pairResults } from "../conversation/turns.ts";
import { type JudgedResult, judgeResults } from "./judge-results.ts";
import { type CallTarget, type FileRead, textKey } from "./targets.ts";

/**
 * Results of edited files are still needed: in 55 real conversations of 20 tool turns or more they had more than twice
 * as many identifiers used later, for their size, as others of their age.
 */
export interface Staleness {
	readonly from: number;
	readonly reason: (typeof order)[number];
}

/** The first of these counts if several reasons come with one message. */
const order = ["identical", "reread", "covered", "repeated", "edited"] as const;

const mostCompared = 64;

/** A result that shows a file, while no later one shows the same. */
type Showing = Pick<FileRead, "lines"> & { readonly place: number; readonly files: number };

/**
 * Finds stale results, in the order of `pairResults`. Looks only backwards, so a longer conversation changes nothing. Results in `masked`
 * have unknown content and success: they make no other out of date that the original would not. Takes linear time.
 */
export function findStale(
	transcript: Transcript,
	masked: ReadonlySet<number> = new Set(),
	judged: readonly JudgedResult[] = judgeResults(transcript),
): readonly (Staleness | undefined)[] {
	const paired = pairResults(transcript);
	const lengths = paired.map(({ result }) => resultCharacters(result));
	const stale = new Array<Staleness | undefined>(paired.length).fill(undefined);
	/** How many files of a result are still shown by it alone. */
	const filesLeft = new Int32Array(paired.length);
	const failures = new Set<number>();
	const edited = new Set<number>();
	const showing = new Map<string, Showing[]>();
	const sameText = lastOf();
	const sameCall = lastOf();

	const mark = (place: number | undefined, reason: Staleness["reason"], from: number) => {
		if (place === undefined) return;
		const before = stale[place];
		const isEarlier = !before || (before.from === from && order.indexOf(reason) < order.indexOf(before.reason));
		if (isEarlier) stale[place] = { from, reason };
	};
	const supersede = (place: number, reason: Staleness["reason"], from: number) => {
		filesLeft[place] = (filesLeft[place] ?? 0) - 1;
		if (reason === "edited") edited.add(place);
		if (filesLeft[place] === 0) mark(place, edited.has(place) ? "edited" : reason, from);
	};
	const edit = (path: string, from: number) => {
		showing.get(path)?.forEach((shown) => {
			supersede(shown.place, "edited", from);
		});
		showing.delete(path);
	};
	const superseding = ({ path, lines }: FileRead, place: number, from: number) => {
		const shown = showing.get(path);
		if (!shown) return;
		// Hosts answer a read with a notice if the file has not changed, or with a part if it is too long.
		const isShort = (one: Showing) => (lengths[place] ?? 0) * 2 * one.files < (lengths[one.place] ?? 0);
		for (const one of shown.slice(-mostCompared)) {
			if (!covers(lines, one.lines) || isShort(one)) continue;
			shown.splice(shown.indexOf(one), 1);
			supersede(one.place, lines === "whole" ? "reread" : "covered", from);
		}
	};

	paired.forEach((one, place) => {
		const from = one.message;
		const { target, given, error } = judged[place] as JudgedResult;
		const callText = () => (given === undefined ? undefined : `${one.call?.name ?? ""}\n${given}`);
		if (masked.has(place)) {
			sameCall(callText(), place);
			// "edited" is the one reason for which no result is masked.
			for (const path of [...target.writes, ...target.reads.map((read) => read.path)]) edit(path, from);
			return;
		}
		const text = resultContent(one.result);
		if (text !== "") mark(sameText(text, place), "identical", from);
		const failed = error !== undefined;
		if (failed) failures.add(place);
		const before = isRepeatable(target) ? sameCall(callText(), place) : undefined;
		// A result that worked says more than a later failure of the same call.
		if (before !== undefined && (!failed || failures.has(before))) mark(before, "repeated", from);
		if (failed) return;
		for (const path of target.writes) edit(path, from);
		for (const read of target.reads) superseding(read, place, from);
		const shows =
			target.kind === "write" ? target.writes.map((path): FileRead => ({ path, lines: "part" })) : target.reads;
		filesLeft[place] = shows.length;
		for (const { path, lines } of shows) addToList(showing, path, { place, lines, files: shows.length });
	});
	return stale;
}

/** Whether the same call shows the same again: turning a page of an open file does not. Reads are compared by files. */
function isRepeatable({ kind, openFile, reads }: CallTarget): boolean {
	return openFile === undefined && reads.length === 0 && kind !== "write" && kind !== "other";
}

function covers(lines: FileRead["lines"], others: FileRead["lines"]): boolean {
	if (lines === "whole") return true;
	if (lines === "part" || typeof others === "string") return false;
	return lines.from <= others.from && others.to <= lines.to;
}

/** Remembers the last place of each text; returns the place of an equal one before. */
function lastOf(): (text: string | undefined, place: number) => number | undefined {
	const last = new Map<string, { text: string; place: number }>();
	return (text, place) => {
		if (text === undefined) return undefined;
		const key = textKey(text);
		const before = last.get(key);
		last.set(key, { text, place });
		return before?.text === text ? before.place : undefined;
	};
}
