import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Command } from "commander";
import { PalimpsestError } from "../errors.ts";
import { isResultName } from "../files/access.ts";
import { type Replay, startReplay } from "../operations/replay.ts";
import { replayedPolicies } from "../operations/replay-policies.ts";
import { parsePrices, type Rates, ratesOfModel, ratesOfPrices } from "../operations/replay-rates.ts";
import type { Policy } from "../policy/schema.ts";
import type { MaskingFigures, PolicyFigures, ReplayReport } from "../replaying/report.ts";
import { type CommonOptions, configOf, printJson, readDocument, say, show, shownName } from "./input-output.ts";
import { writePage } from "./report.ts";

/** The options of `palimpsest replay`. */
export interface ReplayOptions extends CommonOptions {
	/** Names with commas between. */
	readonly policies?: string;
	/** `READ,WRITE`, multiples of the input price. */
	readonly prices?: string;
	readonly model?: string;
	/** Tokens. */
	readonly contextWindow?: number;
	/** Tool turns. */
	readonly minTurns?: number;
	readonly files?: boolean;
	/** Where to write the page. */
	readonly html?: string;
	readonly json?: boolean;
	/** Tool turns, in place of the policy's. */
	readonly windowTurns?: number;
}

/** Conversations that can be drawn over time in a page; the tables have all. */
const mostDrawn = 50;

const defaultPolicies = "raw,window:8,stride:10,break_even:8,balanced,optimum:8";

/** `palimpsest replay FILE…`: prints what each of some policies would have cost and lost in recorded conversations. */
export async function replay(names: readonly string[], options: ReplayOptions): Promise<void> {
	const { policy: configured, layers } = await configOf(options);
	const window_turns = options.windowTurns ?? configured.mask.window_turns;
	const policy = { ...configured, mask: { ...configured.mask, window_turns } };
	const comparesPolicies = options.windowTurns === undefined || asksForPolicies(options);
	const rates = await ratesOf(options, configured);
	const replay = await startReplay({
		policy,
		policies: comparesPolicies ? await replayedPolicies(options.policies ?? defaultPolicies, layers) : [],
		rates,
		model: options.model,
		contextWindow: options.contextWindow,
		minTurns: options.minTurns,
		mostSeries: options.html === undefined ? 0 : mostDrawn,
	});
	const leftOut = await addAll(replay, await findConversations(names), policy);
	const report = replay.report();
	if (report.files.length === 0) throw nothingLeft(leftOut);
	if (options.html !== undefined) {
		const { replayPage } = await import("../pages/replay-page.ts");
		await writePage(options.html, await replayPage({ report, series: replay.series(), billedIn: rates.unit }));
	}
	if (leftOut.unreadable + leftOut.short > 0) say(`left out ${tellLeftOut(leftOut)}`);
	if (comparesPolicies && options.json) printJson(report, 2);
	else if (comparesPolicies) show(replayText(withShownNames(report), { rates, eachFile: options.files ?? false }));
	else {
		const { policies: _, files, ...total } = report;
		const rows = files.map(({ policies: _, ...row }) => row);
		if (options.json) printJson({ ...total, files: rows }, 2);
		else show(maskingTable([...rows.map(withShownName), { file: "total", ...total }]));
	}
}

function withShownName<Row extends { readonly file: string }>(row: Row): Row {
	return { ...row, file: shownName(row.file) };
}

function withShownNames(report: ReplayReport): ReplayReport {
	return { ...report, files: report.files.map(withShownName) };
}

/** `--window-turns` by itself asks only for the figures of docs/specs/observation-masking.md#offline-figures. */
function asksForPolicies({ policies, prices, model, contextWindow, files, html }: ReplayOptions): boolean {
	return [policies, prices, model, contextWindow, files, html].some((given) => given !== undefined);
}

async function ratesOf({ prices, model }: ReplayOptions, policy: Policy): Promise<Rates> {
	if (prices !== undefined) return ratesOfPrices(parsePrices(prices, policy.prices));
	return model === undefined ? ratesOfPrices(policy.prices) : ratesOfModel(model);
}

interface LeftOut {
	/** Files of a folder that cannot be read as a conversation. */
	unreadable: number;
	/** Conversations of too few tool turns. */
	short: number;
}

async function addAll(replay: Replay, files: readonly FoundFile[], policy: Policy): Promise<LeftOut> {
	const leftOut = { unreadable: 0, short: 0 };
	const progress = startProgress(process.stderr, files.length);
	try {
		for (const [index, found] of files.entries()) {
			progress.tell(index, found.file);
			const what = await addFile(replay, found, policy);
			if (what !== "replayed") leftOut[what] += 1;
		}
	} finally {
		progress.end();
	}
	return leftOut;
}

async function addFile(replay: Replay, { file, isNamed }: FoundFile, policy: Policy) {
	try {
		const { value } = await readDocument(file, policy.limits.max_file_bytes);
		return (await replay.add({ file, conversation: value }).catch(inFile(file))) ? "replayed" : "short";
	} catch (error) {
		if (!isNamed && error instanceof PalimpsestError && isNoConversation.has(error.code)) return "unreadable";
		throw error;
	}
}

const isNoConversation: ReadonlySet<string> = new Set([
	"invalid_json",
	"not_a_conversation",
	"payload_too_large",
	"unreadable_file",
]);

/** Names the file in an error, since there may be many. */
function inFile(file: string): (error: unknown) => never {
	return (error) => {
		if (!(error instanceof PalimpsestError)) throw error;
		throw new PalimpsestError(error.code, `${file}: ${error.message}`, { cause: error });
	};
}

function nothingLeft(leftOut: LeftOut): PalimpsestError {
	const why = leftOut.unreadable + leftOut.short > 0 ? `left out ${tellLeftOut(leftOut)}` : "no .json or .jsonl file";
	return new PalimpsestError("invalid_argument", `No conversation to replay: ${why}.`);
}

function tellLeftOut({ unreadable, short }: LeftOut): string {
	return [
		...(unreadable > 0
			? [`${unreadable} ${unreadable === 1 ? "file" : "files"} that cannot be read as a conversation`]
			: []),
		...(short > 0 ? [`${short} ${short === 1 ? "conversation" : "conversations"} of too few tool turns`] : []),
	].join(", ");
}

interface NumberParsers {
	readonly wholeNumber: (text: string) => number;
	readonly aboveZero: (text: string) => number;
}

/** The options of `palimpsest replay`. */
export function addReplayOptions(command: Command, { wholeNumber, aboveZero }: NumberParsers): Command {
	return command
		.option(
			"--policies <names>",
			"raw, window:N, stride:N, break_even:N, optimum:N, presets, balanced:low, policy files; with commas between",
		)
		.option("--prices <read,write>", "of a cached token and of one written to the cache, if not as the policy says")
		.option("--model <name>", "bill in US dollars as its provider does, and count its tokens")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--min-turns <count>", "leave out conversations of fewer tool turns", wholeNumber)
		.option("--files", "a table for each file too")
		.option("--html <file>", "write a page with plots")
		.option("--json", "as JSON")
		.option("--window-turns <count>", "only what masking all but these tool turns saves, file by file", wholeNumber);
}

/** A file to replay. */
export interface FoundFile {
	readonly file: string;
	/** Whether it was named itself, and not found in a folder that was. */
	readonly isNamed: boolean;
}

/**
 * The files behind the arguments, in order: those that are named, and of a folder every `.json` and `.jsonl` file in it
 * and below, by name, but for the results that our tools write beside a session. Links to folders are followed, but into no folder twice. Whether files can be read shows when they are.
 *
 * @throws PalimpsestError `unreadable_file` for a folder that cannot be listed.
 */
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
	if (name === "-") return false;
	return stat(name).then(
		(about) => about.isDirectory(),
		() => false,
	);
}

/** All files, those behind links last: what has a place of its own is found there. */
async function filesBelow(top: string): Promise<string[]> {
	const files: string[] = [];
	const seen = new Set<string>();
	const [folders, links] = [[top], [] as string[]];
	for (;;) {
		const folder = folders.pop() ?? links.shift();
		if (folder === undefined) return files;
		const place = await realpath(folder).catch(() => folder);
		if (seen.has(place)) continue;
		seen.add(place);
		for (const entry of await list(folder)) {
			const name = path.join(folder, entry.name);
			if (entry.isDirectory()) folders.push(name);
			else if (entry.isSymbolicLink() && (await isFolder(name))) links.push(name);
			else files.push(name);
		}
	}
}

async function list(folder: string): Promise<Dirent[]> {
	try {
		return await readdir(folder, { withFileTypes: true });
	} catch (error) {
		const { code, message } = error as NodeJS.ErrnoException;
		throw new PalimpsestError("unreadable_file", `Cannot list the folder ${folder}: ${code ?? message}.`, {
			cause: error,
		});
	}
}

/** The offline figures as a table: one line for each file. */
export function maskingTable(rows: readonly ({ readonly file: string } & MaskingFigures)[]): string {
	const width = Math.max(...rows.map((row) => row.file.length));
	const lines = rows.map((row) => {
		const masked = String(row.masked_tool_results).padStart(6);
		const chars = `${row.tool_chars_before} → ${row.tool_chars_after}`.padStart(22);
		const tokens = `${row.tokens_before} → ${row.tokens_after}`.padStart(22);
		return `${row.file.padEnd(width)} ${masked} ${chars} ${tokens}`;
	});
	const header = `${"file".padEnd(width)} ${"masked".padStart(6)} ${"tool characters".padStart(22)} ${"tokens".padStart(22)}`;
	return `${[header, ...lines].join("\n")}\n`;
}

/** Files up to which each has its table without being asked for. */
const fewFiles = 3;

/** A report for people: what was replayed, a table over all files, what its columns say, and tables of single files. */
export function replayText(
	{ policies, files }: ReplayReport,
	{ rates, eachFile }: { readonly rates: Rates; readonly eachFile: boolean },
): string {
	const { unit } = rates;
	const calls = whole(policies[0]?.llm_calls ?? 0);
	const of = files.length === 1 ? files[0]?.file : `${whole(files.length)} conversations`;
	const parts = [`${of}, ${calls} LLM calls\n`, policiesTable(policies, unit), legend(rates)];
	if (files.length > 1 && (eachFile || files.length <= fewFiles)) {
		for (const one of files) parts.push(`${one.file}\n${policiesTable(one.policies, unit)}`);
	}
	return parts.join("\n");
}

function legend({ unit, prices }: Rates): string {
	const one = prices.input > 0 ? prices.input : 1;
	const at = `${short(prices.cache_read / one)} for a token read from the provider's cache, ${short(prices.cache_write / one)} for one written to it`;
	return [
		unit === "us_dollars"
			? `billed: input in US dollars; × the input price, ${at}`
			: `billed: in prices of an input token, ${at}`,
		"× raw: against masking nothing; worst: of one conversation; × optimum: against the cheapest of the same window",
		"identifiers, lines: share of those that the agent took from tool results that was in view when it did",
		"",
	].join("\n");
}

function short(value: number): string {
	return String(Number(value.toPrecision(4)));
}

type Unit = Rates["unit"];

interface Column {
	/** Two lines of heading. */
	readonly heading: readonly [string, string];
	readonly cell: (figures: PolicyFigures, unit: Unit) => string;
}

const none = "–";

const longestName = 18;

const columns: readonly Column[] = [
	{ heading: ["", "policy"], cell: ({ policy }) => shortened(policy) },
	{ heading: ["", "billed"], cell: ({ billed }, unit) => (unit === "us_dollars" ? dollars(billed) : whole(billed)) },
	{ heading: ["", "× raw"], cell: ({ ratio_to_raw }) => ratio(ratio_to_raw) },
	{ heading: ["", "worst"], cell: ({ worst_ratio_to_raw }) => ratio(worst_ratio_to_raw) },
	{ heading: ["×", "optimum"], cell: ({ ratio_to_optimum }) => ratio(ratio_to_optimum) },
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

/** What each policy costs and keeps, as a table of at most 120 columns while numbers have up to nine digits. */
export function policiesTable(policies: readonly PolicyFigures[], unit: Unit): string {
	const rows = [
		columns.map(({ heading }) => heading[0]),
		columns.map(({ heading }) => heading[1]),
		...policies.map((figures) => columns.map(({ cell }) => cell(figures, unit))),
	];
	const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
	const lines = rows.map((row) => {
		const cells = row.map((cell, index) => {
			const width = widths[index] ?? 0;
			return index === 0 ? cell.padEnd(width) : cell.padStart(width);
		});
		return cells.join("  ").trimEnd();
	});
	return `${lines.join("\n")}\n`;
}

function ratio(value: number | null): string {
	return value === null ? none : value.toFixed(3);
}

function share(value: number | null): string {
	return value === null || value === 0 ? none : value.toFixed(3);
}

/** A whole number, a space before each three digits. */
export function whole(value: number): string {
	return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, " ");
}

function dollars(value: number): string {
	const decimals = value >= 100 ? 0 : value >= 1 ? 2 : 4;
	return `$${value.toFixed(decimals)}`;
}

/** The end of a path says most. */
function shortened(name: string): string {
	return name.length <= longestName ? name : `…${name.slice(1 - longestName)}`;
}

/** Where a progress line is drawn: standard error, where that is a terminal. */
export interface ProgressStream {
	readonly isTTY?: boolean | undefined;
	readonly columns?: number | undefined;
	readonly write: (text: string) => unknown;
}

/** A progress line. */
export interface Progress {
	/** Draws it: how many are done, and what comes now. */
	readonly tell: (done: number, now: string) => void;
	/** Takes it away. */
	readonly end: () => void;
}

const barWidth = 24;

const eraseLine = "\r\u001b[2K";

/** Starts a progress line over `total` things; on anything but a terminal it draws nothing. */
export function startProgress(stream: ProgressStream, total: number): Progress {
	if (stream.isTTY !== true || total < 2) return { tell() {}, end() {} };
	// A terminal that does not know its width says 0.
	const columns = stream.columns || 80;
	return {
		tell(done, now) {
			const full = Math.floor((barWidth * done) / total);
			const start = `${"█".repeat(full)}${"░".repeat(barWidth - full)} ${done} of ${total}  `;
			const room = Math.max(0, columns - start.length - 1);
			stream.write(`${eraseLine}${start}${room > 0 ? shownName(now).slice(-room) : ""}`);
		},
		end: () => stream.write(eraseLine),
	};
}
