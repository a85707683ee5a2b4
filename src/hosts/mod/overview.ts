import { refPattern } from "../../storage/archive/reference.ts";
import { shortenedRef } from "../../storage/restore/recognise.ts";
import { oldResults, type Row, reasoningRows, tokensLeftOut, windows } from "./compaction.ts";
import { dollarsOfWriting } from "./requests.ts";

/** What fills the window, as Claude Code measures it. */
export interface WindowUsage {
	readonly tokens: number;
	readonly window: number;
	readonly parts: readonly { readonly name: string; readonly tokens: number }[];
}

/** A result in view that a person can choose. */
interface ListedResult {
	readonly id: string;
	readonly label: string;
	/** Under which its original is kept; absent for a whole one. */
	readonly ref?: string;
}

const mostListed = 8;
const mostLabel = 60;

/** The largest results in view, and those whose originals can be read, the newest first. */
export function resultsInView(rows: readonly Row[]) {
	const calls = new Map(rows.flatMap(({ toolUses }) => toolUses).map((use) => [use.tool_use_id, use]));
	const results = rows.flatMap(({ toolResults = [] }) => toolResults);
	const listed = results.map(({ tool_use_id: id, text }) => {
		const { tool = "?", input } = calls.get(id) ?? {};
		const words = Object.values(input ?? {})
			.join(" ")
			.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
			.trim();
		const ref = shortenedRef(text) ?? maskedRef.exec(text)?.groups?.ref;
		// The end of a path and of a command tells most.
		const end = words.length > mostLabel ? `…${words.slice(1 - mostLabel)}` : words;
		const label = `${tool} ${end}, ${count(text.length)} characters`;
		return { id, label, chars: text.length, ...(ref === undefined ? {} : { ref }) };
	});
	const largest = listed.toSorted((one, other) => other.chars - one.chars).slice(0, mostListed);
	const recallable = listed
		.filter(({ ref }) => ref !== undefined)
		.slice(-mostListed)
		.reverse();
	return {
		all: listed.length,
		chars: listed.reduce((sum, { chars }) => sum + chars, 0),
		largest,
		recallable,
	} satisfies {
		readonly largest: readonly ListedResult[];
		readonly recallable: readonly ListedResult[];
		readonly all: number;
		readonly chars: number;
	};
}

const maskedRef = new RegExp(`^\\[[^\\]]{0,200}[=#](?<ref>${refPattern})\\)?\\]`, "u");

/** What the command `/palimpsest` shows. */
export function overview(
	rows: readonly Row[],
	about: {
		readonly usage: WindowUsage;
		readonly model: string;
		readonly at: number;
		readonly kept: ReadonlySet<string>;
	},
): string {
	const { usage, kept } = about;
	const { all, chars, largest, recallable } = resultsInView(rows);
	const parts = usage.parts.map(({ name, tokens }) => `${name} ${count(tokens)}`).join(", ");
	const percent = Math.round((100 * usage.tokens) / Math.max(1, usage.window));
	return [
		`${count(usage.tokens)} of ${count(usage.window)} tokens (${percent} %): ${parts}`,
		`${all} results of tools in view, ${count(chars)} characters. The largest:`,
		...largest.map(({ id, label }, at) => `  ${at + 1}. ${label}${kept.has(id) ? " (stays)" : ""}`),
		maskingLine(rows, about),
		"/palimpsest mask: masks old results now. /palimpsest keep 1 2: those of the list stay. /palimpsest recall 1: asks for an original of these:",
		...(recallable.length === 0
			? ["  none is kept yet"]
			: recallable.map(({ label, ref }, at) => `  ${at + 1}. ${label}, ref=${ref}`)),
	].join("\n");
}

/** What masking now would leave, and its price. */
function maskingLine(rows: readonly Row[], { usage, model, at, kept }: Parameters<typeof overview>[1]): string {
	const old = oldResults(rows, { windowTurns: windows[0], kept });
	if (old.length === 0) return `Nothing is older than ${windows[0]} tool turns, so masking would leave all as it is.`;
	const left = Math.max(0, usage.tokens - tokensLeftOut(old));
	return `Masking ${old.length} old results would leave about ${count(left)} tokens. ${priceOfMasking(left, rows, { model, at })}`;
}

/** What a rewritten history costs. */
export function priceOfMasking(
	tokens: number,
	rows: readonly Row[],
	{ model, at }: { readonly model: string; readonly at: number },
): string {
	const price = dollarsOfWriting(tokens, model, at);
	const written = `The next request writes them to the cache again${price === undefined ? "" : ` (about ${dollars(price)})`}`;
	const lost = reasoningRows(rows);
	return lost === 0 ? `${written}.` : `${written}, and the reasoning of ${lost} answers is left out.`;
}

/** One line before the first request of a session whose cache has expired. */
export function coldLine(
	rows: readonly Row[],
	{ tokens, usd }: { readonly tokens: number; readonly usd: number | undefined },
): string {
	const left = Math.max(0, tokens - tokensLeftOut(oldResults(rows, { windowTurns: windows[0] })));
	const price = (share: number) => (usd === undefined ? "" : `, about ${dollars(usd * share)}`);
	const masked =
		left < tokens ? ` With old results masked: ${count(left)} tokens${price(left / tokens)} (/palimpsest mask).` : "";
	return `The cache of this session has expired: the next request writes ${count(tokens)} tokens again${price(1)}.${masked}`;
}

/** The numbers of a list in the arguments of a command, as its entries. */
export function chosen<Entry>(list: readonly Entry[], args: string): readonly Entry[] {
	return [...args.matchAll(/\d+/g)].flatMap(([number]) => list[Number(number) - 1] ?? []);
}

const count = (value: number) =>
	Math.round(value)
		.toString()
		.replace(/\B(?=(?:\d{3})+$)/g, " ");

const dollars = (value: number) => `$${value.toFixed(2)}`;
