import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { truncateHeadTail } from "../../src/engine/truncate/head-tail.ts";
import { noticeWordings } from "../../src/engine/truncate/notice-wordings.ts";
import { truncateOutput } from "../../src/engine/truncate/truncate-output.ts";
import { readConversation } from "../../src/formats/read-conversation.ts";
import { locales } from "../../src/policy/locale.ts";
import { loadCounter } from "../../src/tokens/load-counter.ts";
import { clairvoyantBound, measures, type RecallCase, recallCases } from "../engine/truncate/recall-cases.ts";
import { hasRealData, realDataFolder } from "../support/real-conversations.ts";

const budgets = [2_000, 4_000, 8_000, 16_000] as const;
const kinds = ["identifiers", "lines"] as const;
const largeTokens = 2_000;
/** Share of the gap between head and tail and the bound that has to be closed. */
const gapsToClose: Readonly<Record<number, number>> = { 2000: 0, 4000: 0.2, 8000: 0.25, 16000: 0 };
const ref = "0123456789abcdef0123456789abcdef";

interface Shares {
	wanted: number;
	headTail: number;
	auto: number;
	bound: number;
}

/** The large results of all conversations, which fall into two halves by their place in the list of files. */
async function casesOf(): Promise<{ half: number; found: RecallCase }[]> {
	const count = await loadCounter("o200k_base");
	const isLarge = (text: string) => text.length > largeTokens && count(text) > largeTokens;
	const root = join(realDataFolder, "conversations");
	const files = readdirSync(root).flatMap((folder) =>
		readdirSync(join(root, folder)).map((name) => join(folder, name)),
	);
	return files.flatMap((file, index) => {
		const { transcript } = readConversation(JSON.parse(readFileSync(join(root, file), "utf8")));
		return recallCases(transcript, isLarge).map((found) => ({ half: index % 2, found }));
	});
}

/** Head and tail of the same size each, in the seeds' wording, within the budget with its marker. */
function headAndTail(text: string, maxChars: number): string {
	const marker = locales.en.archived.truncation_marker;
	const half = Math.floor((maxChars - marker.length - 40) / 2);
	return truncateHeadTail(text, { maxChars, headChars: half, tailChars: half, marker }, () => ref).text;
}

function autoWithFocus({ text, focus }: RecallCase, max: number): string {
	const budget = { unit: "chars", max } as const;
	const given = { text, focus, budget, ref, wording: noticeWordings.en, stripAnsi: stripVTControlCharacters };
	return truncateOutput({ ...given, strategy: "auto" }).text;
}

function measureShares(cases: readonly RecallCase[], budget: number, kind: (typeof kinds)[number]): Shares {
	const sum: Shares = { wanted: 0, headTail: 0, auto: 0, bound: 0 };
	for (const one of cases) {
		const wanted = one[kind];
		if (wanted.size === 0) continue;
		const keptOf = (text: string) => {
			const kept = new Set(measures[kind](text));
			return [...wanted].filter((part) => kept.has(part)).length;
		};
		sum.wanted += wanted.size;
		sum.headTail += keptOf(headAndTail(one.text, budget));
		sum.auto += keptOf(autoWithFocus(one, budget));
		sum.bound += clairvoyantBound(one.text, wanted, measures[kind], budget);
	}
	return sum;
}

const closedOf = ({ auto, headTail, bound }: Shares) => (auto - headTail) / (bound - headTail);

function table(name: string, rows: readonly { budget: number; kind: string; shares: Shares }[]): string {
	const share = (part: number, { wanted }: Shares) => (part / wanted).toFixed(3);
	const lines = rows.map(
		({ budget, kind, shares }) =>
			`${budget} ${kind}: head_tail ${share(shares.headTail, shares)}, auto ${share(shares.auto, shares)}, bound ${share(shares.bound, shares)}, gap closed ${closedOf(shares).toFixed(2)}`,
	);
	return `${name}\n${lines.join("\n")}\n`;
}

describe.skipIf(!hasRealData)("what is used later of large results", async () => {
	const cases = hasRealData ? await casesOf() : [];
	const all = cases.map(({ found }) => found);

	it("is there to be measured", () => {
		expect(all.length).toBeGreaterThan(200);
		for (const kind of kinds) expect(all.reduce((sum, one) => sum + one[kind].size, 0)).toBeGreaterThan(300);
	});

	it.each(budgets.flatMap((budget) => kinds.map((kind) => ({ budget, kind }))))(
		"auto with focus keeps more $kind than head and tail at $budget characters",
		({ budget, kind }) => {
			const shares = measureShares(all, budget, kind);
			process.stderr.write(table("All conversations", [{ budget, kind, shares }]));
			expect(shares.auto).toBeGreaterThan(shares.headTail);
			expect(closedOf(shares)).toBeGreaterThanOrEqual(gapsToClose[budget] as number);
		},
	);

	it.each([0, 1])("auto with focus keeps more on each half of the conversations (%i)", (half) => {
		const ofHalf = cases.filter((one) => one.half === half).map(({ found }) => found);
		const rows = [4_000, 8_000].flatMap((budget) =>
			kinds.map((kind) => ({ budget, kind, shares: measureShares(ofHalf, budget, kind) })),
		);
		process.stderr.write(table(`Half ${half}`, rows));
		for (const { shares } of rows) expect(shares.auto).toBeGreaterThan(shares.headTail);
	});
});
