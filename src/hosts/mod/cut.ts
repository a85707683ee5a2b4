import { isJsonObject } from "../../engine/conversation/json.ts";
import { noticesOf } from "../../engine/policy/wordings.ts";
import { arrivalLimit, limitOfCall } from "../../engine/truncation/arrival-limit.ts";
import { focusOfCall } from "../../engine/truncation/focus.ts";
import { truncateOutput } from "../../engine/truncation/truncate.ts";
import { refOfHash } from "../../storage/archive/reference.ts";
import { shortenedRef } from "../../storage/restore/recognise.ts";
import { fairShares } from "../hook-answers.ts";
import { sha256 } from "./disk.ts";
import type { ModSettings } from "./settings.ts";

/** A result as it arrives: a text, or blocks some of which are texts. */
export type Content = string | readonly unknown[];

export interface Arrival {
	readonly toolName: string;
	readonly input: unknown;
	readonly content: Content;
	readonly hasFailed: boolean;
	/** The last words of the model before the call, and of the person. */
	readonly words?: string | undefined;
	readonly task?: string | undefined;
	/** All of an output that the program has saved, and shows the start of. */
	readonly saved?: string | undefined;
}

export interface Cut {
	readonly content: Content;
	/** What has to be kept before the cut is shown. */
	readonly originals: readonly { readonly text: string; readonly hash: string }[];
	readonly charsBefore: number;
	readonly charsAfter: number;
}

/** Cutting more takes too long: the program waits, and it unloads a mod that takes 10 s. */
const mostChars = 2_000_000;

/** The result as it is shown in its place; `undefined` if it stays whole. Texts share the limit of their call. */
export async function cutArrival(arrival: Arrival, settings: ModSettings): Promise<Cut | undefined> {
	const { toolName, content, saved } = arrival;
	const shown = textsOf(content);
	const texts = saved === undefined ? shown : [saved];
	const before = charsOf(texts);
	if (before > mostChars || shown.some((text) => shortenedRef(text) !== undefined)) return undefined;
	const input = JSON.stringify(arrival.input ?? {});
	const ofCall = limitOfCall({ toolName, input, chars: before }, arrivalLimit(settings));
	if (ofCall === undefined) return undefined;
	// The program would show no more of what it has saved.
	const limit = saved === undefined ? ofCall : Math.min(ofCall, charsOf(shown));
	const shares = fairShares(
		texts.map(({ length }) => length),
		limit,
	);
	const cuts = await Promise.all(texts.map((text, at) => cutText(text, shares[at] as number, arrival, settings)));
	const originals = cuts.flatMap((cut) => cut?.original ?? []);
	if (originals.length === 0) return undefined;
	const shorter = cuts.map((cut, at) => cut?.text ?? (texts[at] as string));
	return {
		content: saved === undefined ? withTexts(content, shorter) : (shorter[0] as string),
		originals,
		charsBefore: charsOf(shown),
		charsAfter: charsOf(shorter),
	};
}

/** After so many the code is compiled, and a cut takes a tenth of the time of the first. */
const cutsUntilFast = 20;
const sample = Array.from(
	{ length: 300 },
	(_, at) => `src/part-${at % 7}.ts:${at}: expected ${at * 31} rows; got none\n`,
);

/** Cuts what nobody sees, one after the other, until the first result has arrived. */
export async function warmUp(settings: ModSettings, hasArrived: () => boolean): Promise<void> {
	const arrival = {
		toolName: "Bash",
		input: { command: "npm test" },
		hasFailed: false,
		task: "Repair the test of rows.",
	};
	for (let cut = 0; cut < cutsUntilFast && !hasArrived(); cut += 1) {
		await cutArrival({ ...arrival, content: `run ${cut}\n${sample.join("")}` }, settings);
		await new Promise((resolve) => setTimeout(resolve, 0));
	}
}

async function cutText(text: string, most: number, arrival: Arrival, { locale }: ModSettings) {
	// The archive keeps lone surrogates, which a mod cannot write.
	if (text.length <= most || !text.isWellFormed()) return undefined;
	const { input, words, task, hasFailed } = arrival;
	const hash = await sha256(text);
	const ref = refOfHash(hash);
	const cut = truncateOutput({
		text,
		budget: { unit: "chars", max: most },
		strategy: "auto",
		focus: focusOfCall({ input, words, task }),
		hasFailed,
		wording: noticesOf(locale, "recallable"),
		ref,
		stripAnsi: (line) => line.replace(escapes, ""),
	});
	// Without its reference the original could not be found.
	if (!cut.truncated || cut.text.length >= text.length || !cut.text.includes(ref)) return undefined;
	return { text: cut.text, original: { text, hash } };
}

/** Control sequences of terminals (ECMA-48, 5.4) and strings of operating systems. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[ -/]*[0-~])/g;

type TextBlock = { readonly type: "text"; readonly text: string };

const isText = (block: unknown): block is TextBlock =>
	isJsonObject(block) && block.type === "text" && typeof block.text === "string";

function textsOf(content: Content): readonly string[] {
	return typeof content === "string" ? [content] : content.filter(isText).map(({ text }) => text);
}

function withTexts(content: Content, texts: readonly string[]): Content {
	if (typeof content === "string") return texts[0] as string;
	let at = 0;
	return content.map((block) => {
		if (!isText(block)) return block;
		at += 1;
		return { ...block, text: texts[at - 1] };
	});
}

function charsOf(texts: readonly string[]): number {
	return texts.reduce((sum, { length }) => sum + length, 0);
}
