import { PalimpsestError } from "../errors.ts";
import { parsePrices, type Rates, ratesOfPrices } from "../pipeline/replay/rates.ts";
import { ratesOfModel } from "../pipeline/replay/rates-of-model.ts";
import type { ReplayReport } from "../pipeline/replay/replay-report.ts";
import { replayedPolicies } from "../pipeline/replay/replayed-policy.ts";
import { type Replay, startReplay } from "../pipeline/replay/start-replay.ts";
import type { Policy } from "../policy/schema.ts";
import { readDocument } from "./read-document.ts";
import { type FoundFile, findConversations } from "./replay/find-conversations.ts";
import { maskingTable } from "./replay/masking-table.ts";
import { replayText } from "./replay/replay-text.ts";
import { startProgress } from "./replay/start-progress.ts";
import { writePage } from "./report/write-page.ts";
import { type CommonOptions, configOf, printJson, say, show, shownName } from "./shell.ts";

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

/** `--window-turns` by itself asks for the figures of seed 2's benchmark, which compares nothing. */
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
