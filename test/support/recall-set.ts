import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { locales } from "../../src/engine/policy/wordings.ts";
import { truncateHeadTail } from "../../src/engine/truncation/head-tail.ts";
import { truncateOutput } from "../../src/engine/truncation/truncate.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import {
	clairvoyantBound,
	countKept,
	type RecallCase,
	type RecallKind,
	recallCases,
} from "../engine/truncation/recall-cases.ts";
import { noticesOf } from "./notices-of.ts";
import { realDataFolder } from "./real-conversations.ts";

/** Characters that a result is cut to. */
export const recallBudgets = [2_000, 4_000, 8_000, 16_000] as const;

/** Reference that stands in the notices. */
export const recallRef = "0123456789abcdef0123456789abcdef";

/** A large result, the place of its conversation in the list of files, and its tokens. */
export interface RecallItem {
	readonly conversation: number;
	readonly found: RecallCase;
	readonly tokens: number;
}

/** Where the conversations are, and what counts their tokens, where they are not the usual ones. */
export interface RecallSource {
	readonly folder?: string;
	readonly count?: (text: string) => number;
}

/** The results over so many o200k tokens of all conversations; none where the folder is absent. */
export async function recallSet(leastTokens: number, source: RecallSource = {}): Promise<RecallItem[]> {
	const { folder: data = realDataFolder, count = await loadCounter("o200k_base") } = source;
	const root = join(data, "conversations");
	if (!existsSync(root)) return [];
	const files = readdirSync(root).flatMap((folder) =>
		readdirSync(join(root, folder)).map((name) => join(folder, name)),
	);
	return files.flatMap((file, conversation) => {
		const { transcript } = readConversation(JSON.parse(readFileSync(join(root, file), "utf8")));
		const mayBeLarge = recallCases(transcript, (text) => text.length > leastTokens);
		const items = mayBeLarge.map((found) => ({ conversation, found, tokens: count(found.text) }));
		return items.filter(({ tokens }) => tokens > leastTokens);
	});
}

/** What was wanted of some results, and what a way to cut them, head and tail, and the bound keep of it. */
export interface RecallShares {
	wanted: number;
	headTail: number;
	kept: number;
	bound: number;
}

export interface RecallMeasurement {
	readonly cases: readonly RecallCase[];
	readonly budget: number;
	readonly kind: RecallKind;
	readonly of?: "alone" | "shared";
	readonly cut?: (one: RecallCase, maxChars: number) => string;
}

export function measureShares({
	cases,
	budget,
	kind,
	of = "alone",
	cut = rememberedAuto,
}: RecallMeasurement): RecallShares {
	const sum: RecallShares = { wanted: 0, headTail: 0, kept: 0, bound: 0 };
	for (const one of cases) {
		const wanted = one[of][kind];
		if (wanted.size === 0) continue;
		sum.wanted += wanted.size;
		sum.headTail += countKept(rememberedHeadAndTail(one, budget), wanted, kind);
		sum.kept += countKept(cut(one, budget), wanted, kind);
		sum.bound += rememberedBound(one, wanted, kind, budget);
	}
	return sum;
}

/** Share of the gap between head and tail and the bound that is closed. */
export function gapClosed({ kept, headTail, bound }: RecallShares): number {
	return (kept - headTail) / (bound - headTail);
}

/** Head and tail of the same size each, in the default wording, within the budget with its marker. */
export function cutToHeadAndTail({ text }: RecallCase, maxChars: number): string {
	const marker = locales.en.archived.truncation_marker;
	const half = Math.floor((maxChars - marker.length - 40) / 2);
	return truncateHeadTail(text, { maxChars, headChars: half, tailChars: half, marker }, () => recallRef).text;
}

const cutBefore = new WeakMap<RecallCase, Map<string, string>>();

/** Each result is cut once to each budget, however many measures look at it. */
function remembered(cut: (one: RecallCase, maxChars: number) => string, name: string) {
	return (one: RecallCase, maxChars: number): string => {
		const known = cutBefore.get(one) ?? new Map<string, string>();
		cutBefore.set(one, known);
		const key = `${name} ${maxChars}`;
		const text = known.get(key) ?? cut(one, maxChars);
		known.set(key, text);
		return text;
	};
}

const boundsBefore = new WeakMap<ReadonlySet<string>, Map<number, number>>();

function rememberedBound({ text }: RecallCase, wanted: ReadonlySet<string>, kind: RecallKind, budget: number): number {
	const known = boundsBefore.get(wanted) ?? new Map<number, number>();
	boundsBefore.set(wanted, known);
	const bound = known.get(budget) ?? clairvoyantBound(text, wanted, kind, budget);
	known.set(budget, bound);
	return bound;
}

/** As `guard_context` cuts a result: by its shape, and by what its call was after. */
export function cutByAuto({ text, focus }: RecallCase, max: number): string {
	const budget = { unit: "chars", max } as const;
	const given = { text, focus, budget, ref: recallRef, wording: noticesOf("en"), stripAnsi: stripVTControlCharacters };
	return truncateOutput({ ...given, strategy: "auto" }).text;
}

const rememberedAuto = remembered(cutByAuto, "auto");
const rememberedHeadAndTail = remembered(cutToHeadAndTail, "head_tail");

/** A row of a table in Markdown. */
export function showShares(name: string, shares: RecallShares): string {
	const { wanted, headTail, kept, bound } = shares;
	const cells = [headTail, kept, bound].map((part) => (part / wanted).toFixed(3));
	return `| ${[name, ...cells, gapClosed(shares).toFixed(2)].join(" | ")} |\n`;
}
