import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { isResultName } from "../files/access.ts";
import { startReplay } from "../operations/replay.ts";
import { replayedPolicies } from "../operations/replay-policies.ts";
import { parsePrices, type Rates, ratesOfModel, ratesOfPrices } from "../operations/replay-rates.ts";
import { alignColumns, endOf, whole } from "../operations/report-text.ts";
import type { MaskingFigures, PolicyFigures, ReplayReport } from "../replaying/report.ts";
import {
	type CommonOptions,
	commandConfig,
	printJson,
	readConversationFile,
	say,
	show,
	shownName,
} from "./input-output.ts";
import { writePage } from "./report.ts";

interface ReplayOptions extends CommonOptions {
	readonly policies?: string;
	readonly prices?: string;
	readonly model?: string;
	readonly contextWindow?: number;
	readonly minTurns?: number;
	readonly files?: boolean;
	readonly html?: string;
	readonly json?: boolean;
	readonly windowTurns?: number;
}

/** For the plots of a page; its tables have all conversations. */
const mostDrawn = 50;
const defaultPolicies = "raw,window:8,stride:10,break_even:8,balanced,clear:30000:3:20000,last:5:10,opencode";

/** `palimpsest replay FILE…` */
export async function replay(names: readonly string[], options: ReplayOptions): Promise<void> {
	const { policies, prices, model, contextWindow, minTurns, files: eachFile = false, html, json } = options;
	const { policy: configured, layers } = await commandConfig(options);
	const window_turns = options.windowTurns ?? configured.mask.window_turns;
	const policy = { ...configured, mask: { ...configured.mask, window_turns } };
	// `--window-turns` alone asks only for the figures of docs/replay.md#offline-figures.
	const comparing = [policies, prices, model, contextWindow, options.files, html];
	const comparesPolicies = options.windowTurns === undefined || comparing.some((given) => given !== undefined);
	const pricesOfCall = prices === undefined ? configured.prices : parsePrices(prices, configured.prices);
	const rates =
		model === undefined || prices !== undefined
			? ratesOfPrices(pricesOfCall)
			: await ratesOfModel(model, configured.prices);
	const replay = await startReplay({
		policy,
		policies: comparesPolicies ? await replayedPolicies(policies ?? defaultPolicies, layers) : [],
		rates,
		model,
		contextWindow,
		minTurns,
		mostSeries: html === undefined ? 0 : mostDrawn,
	});
	const countOf = await addFiles(names, async (file) => {
		const conversation = await readConversationFile(file, policy.limits.max_file_bytes);
		const isLong = await replay.add({ file, conversation }).catch((cause) => {
			if (!(cause instanceof PalimpsestError)) throw cause;
			throw new PalimpsestError(cause.code, `${file}: ${cause.message}`, { cause });
		});
		return isLong ? "added" : "short";
	});
	const [unreadable, short] = [countOf("unreadable"), countOf("short")];
	const words = [
		[unreadable, unreadable === 1 ? "file" : "files", "that cannot be read as a conversation"],
		[short, short === 1 ? "conversation" : "conversations", "of too few tool turns"],
	].flatMap(([count, ...what]) => (count === 0 ? [] : [[count, ...what].join(" ")]));
	const leftOut = words.length === 0 ? undefined : `left out ${words.join(", ")}`;
	const report = replay.report();
	if (report.files.length === 0) {
		const reason = leftOut ?? "no .json or .jsonl file";
		throw new PalimpsestError("invalid_argument", `No conversation to replay: ${reason}.`);
	}
	if (html !== undefined) {
		const { replayPage } = await import("../pages/replay-page.ts");
		await writePage(html, await replayPage({ report, series: replay.series(), billedIn: rates.unit }));
	}
	if (leftOut !== undefined) say(leftOut);
	if (comparesPolicies) {
		if (json) printJson(report, 2);
		else show(replayText(report, { rates, eachFile }));
		return;
	}
	const { policies: _, files, ...total } = report;
	const rows = files.map(({ policies: _, ...row }) => row);
	if (json) printJson({ ...total, files: rows }, 2);
	else show(maskingTable([...rows, { file: "total", ...total }]));
}

const unreadableCodes = ["invalid_json", "not_a_conversation", "payload_too_large", "unreadable_file"];

/** Adds all files, and tells how many are left out for a reason. A file that an argument names has to be readable. */
async function addFiles<Reason extends string>(
	names: readonly string[],
	add: (file: string) => Promise<Reason | "added">,
): Promise<(reason: Reason | "unreadable") => number> {
	const done: (Reason | "added" | "unreadable")[] = [];
	for (const { file, isNamed } of await findConversations(names)) {
		try {
			done.push(await add(file));
		} catch (error) {
			const isLeftOut = !isNamed && error instanceof PalimpsestError && unreadableCodes.includes(error.code);
			if (!isLeftOut) throw error;
			done.push("unreadable");
		}
	}
	return (reason) => done.filter((one) => one === reason).length;
}

interface FoundFile {
	readonly file: string;
	/** Whether an argument names the file itself, not a folder above it. */
	readonly isNamed: boolean;
}

/** Named files, and all .json and .jsonl files below named folders, except our results. No folder is read twice. */
export async function findConversations(names: readonly string[]): Promise<readonly FoundFile[]> {
	const lists = await Promise.all(
		names.map(async (name): Promise<readonly FoundFile[]> => {
			if (!(await isFolder(name))) return [{ file: name, isNamed: true }];
			const isSession = (file: string) => /\.jsonl?$/i.test(file) && !isResultName(file);
			const files = (await filesBelow(name)).filter(isSession).sort();
			return files.map((file) => ({ file, isNamed: false }));
		}),
	);
	return lists.flat();
}

async function isFolder(name: string): Promise<boolean> {
	const about = name === "-" ? undefined : await stat(name).catch(() => undefined);
	return about?.isDirectory() ?? false;
}

/** Linked folders come last, so that a folder is found under its own path rather than a link. */
async function filesBelow(top: string): Promise<string[]> {
	const files: string[] = [];
	const seen = new Set<string>();
	const waiting = [top];
	for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
		const place = await realpath(folder).catch(() => folder);
		if (seen.has(place)) continue;
		seen.add(place);
		for (const entry of await list(folder)) {
			const name = path.join(folder, entry.name);
			if (entry.isDirectory()) waiting.unshift(name);
			else if (entry.isSymbolicLink() && (await isFolder(name))) waiting.push(name);
			else files.push(name);
		}
	}
	return files;
}

async function list(folder: string): Promise<Dirent[]> {
	try {
		return await readdir(folder, { withFileTypes: true });
	} catch (cause) {
		const { code, message } = cause as NodeJS.ErrnoException;
		throw new PalimpsestError("unreadable_file", `Cannot list the folder ${folder}: ${code ?? message}.`, { cause });
	}
}

/** Up to this many files, each has its own table. */
const fewFiles = 3;

export function replayText(
	{ policies, files }: ReplayReport,
	{ rates, eachFile }: { readonly rates: Rates; readonly eachFile: boolean },
): string {
	const [first] = files;
	const calls = whole(policies[0]?.llm_calls ?? 0);
	const of = first && files.length === 1 ? shownName(first.file) : `${whole(files.length)} conversations`;
	const notes = policies.some(({ reasoning }) => reasoning) ? [reasoningLegend] : [];
	const parts = [`${of}, ${calls} LLM calls\n`, policiesTable(policies, rates.unit), legend(rates), ...notes];
	if (files.length > 1 && (eachFile || files.length <= fewFiles)) {
		for (const one of files) parts.push(`${shownName(one.file)}\n${policiesTable(one.policies, rates.unit)}`);
	}
	return parts.join("\n");
}

function legend({ unit, prices }: Rates): string {
	const one = prices.input > 0 ? prices.input : 1;
	const short = (value: number) => String(Number((value / one).toPrecision(4)));
	const at = `${short(prices.cache_read)} for a token read from the provider's cache, ${short(prices.cache_write)} for one written to it`;
	return [
		unit === "us_dollars"
			? `billed: input in US dollars; × the input price, ${at}`
			: `billed: in prices of an input token, ${at}`,
		"× raw: against masking nothing; worst: of one conversation",
		"faults: calls of 100 that need a masked result; with faults: billed, and a call more for each of them, × raw",
		"at least: no choice of results and moments has a lower bill with so many faults",
		`with output: all that and the answers, at ${short(prices.output)} for a token of output, × raw`,
		"identifiers, lines: share of those that the agent took from tool results that was in view when it did",
		"",
	].join("\n");
}

const reasoningLegend =
	"reasoning: bound to earlier messages, so that masking left it out; its share of all; output billed to produce a part again\n";

type Unit = Rates["unit"];

interface Column {
	readonly heading: readonly [string, string];
	readonly cell: (figures: PolicyFigures, unit: Unit) => string;
}

const costs: readonly Column[] = [
	{ heading: ["", "policy"], cell: ({ policy }) => endOf(policy, longestName) },
	{ heading: ["", "billed"], cell: ({ billed }, unit) => (unit === "us_dollars" ? dollars(billed) : whole(billed)) },
	{ heading: ["", "× raw"], cell: ({ ratio_to_raw }) => ratio(ratio_to_raw) },
	{ heading: ["", "worst"], cell: ({ worst_ratio_to_raw }) => ratio(worst_ratio_to_raw) },
	{ heading: ["faults", "in 100"], cell: ({ faults_per_100_calls }) => faults_per_100_calls.toFixed(2) },
	{ heading: ["with", "faults"], cell: ({ ratio_with_faults }) => ratio(ratio_with_faults) },
	{ heading: ["at", "least"], cell: ({ bound_with_faults }) => ratio(bound_with_faults) },
	{ heading: ["", "worst"], cell: ({ worst_ratio_with_faults }) => ratio(worst_ratio_with_faults) },
	{ heading: ["with", "output"], cell: ({ ratio_with_output }) => ratio(ratio_with_output) },
];

const contexts: readonly Column[] = [
	{ heading: ["", ""], cell: ({ policy }) => endOf(policy, longestName) },
	{ heading: ["context", "× raw"], cell: ({ average_context_ratio }) => ratio(average_context_ratio) },
	{ heading: ["", "peak"], cell: ({ peak_context_tokens }) => whole(peak_context_tokens) },
	{
		heading: ["over", "window"],
		cell: (figures) => (figures.calls_of_known_window === 0 ? none : whole(figures.calls_over_window)),
	},
	{ heading: ["", "masked"], cell: ({ masked_tool_results }) => whole(masked_tool_results) },
	{ heading: ["", "identifiers"], cell: ({ recall }) => ratio(recall.identifiers) },
	{ heading: ["", "lines"], cell: ({ recall }) => ratio(recall.lines) },
	{ heading: ["+ in", "digests"], cell: ({ recall_in_digests }) => share(recall_in_digests.identifiers) },
];

const reasonings: readonly Column[] = [
	{ heading: ["reasoning", "left out"], cell: ({ reasoning }) => whole(reasoning?.left_out_tokens ?? 0) },
	{ heading: ["", "share"], cell: ({ reasoning }) => ratio(reasoning?.left_out_share ?? 0) },
	{ heading: ["produced", "again"], cell: ({ reasoning }) => whole(reasoning?.redone_tokens ?? 0) },
];

/** A table of costs and one of contexts, each of at most 120 columns for numbers of up to nine digits. */
export function policiesTable(policies: readonly PolicyFigures[], unit: Unit): string {
	const tableOf = (columns: readonly Column[]) =>
		table([
			columns.map(({ heading }) => heading[0]),
			columns.map(({ heading }) => heading[1]),
			...policies.map((figures) => columns.map(({ cell }) => cell(figures, unit))),
		]);
	const hasReasoning = policies.some(({ reasoning }) => reasoning !== undefined);
	return [tableOf(costs), tableOf(hasReasoning ? [...contexts, ...reasonings] : contexts)].join("\n");
}

/** docs/replay.md#offline-figures, a line for each file. */
function maskingTable(rows: readonly ({ readonly file: string } & MaskingFigures)[]): string {
	return table([
		["file", "masked", "tool characters", "tokens"],
		...rows.map((row) => [
			shownName(row.file),
			String(row.masked_tool_results),
			`${row.tool_chars_before} → ${row.tool_chars_after}`,
			`${row.tokens_before} → ${row.tokens_after}`,
		]),
	]);
}

function table(rows: readonly (readonly string[])[]): string {
	return alignColumns(rows)
		.map((line) => `${line.trimEnd()}\n`)
		.join("");
}

const none = "–";

function ratio(value: number | null): string {
	return value === null ? none : value.toFixed(3);
}

function share(value: number | null): string {
	return ratio(value === 0 ? null : value);
}

function dollars(value: number): string {
	const decimals = value >= 100 ? 0 : value >= 1 ? 2 : 4;
	return `$${value.toFixed(decimals)}`;
}

const longestName = 28;
