import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../errors.ts";
import { isResultName } from "../files/access.ts";
import { type Replay, startReplay } from "../operations/replay.ts";
import { replayedPolicies } from "../operations/replay-policies.ts";
import { parsePrices, ratesOfModel, ratesOfPrices } from "../operations/replay-rates.ts";
import type { Policy } from "../policy/schema.ts";
import { type CommonOptions, commandConfig, printJson, readConversationFile, say, show } from "./input-output.ts";
import { maskingTable, replayText } from "./replay-text.ts";
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
const defaultPolicies = "raw,window:8,stride:10,break_even:8,balanced,clear:30000:3:20000,last:5:10,opencode,optimum:8";

/** `palimpsest replay FILE…` */
export async function replay(names: readonly string[], options: ReplayOptions): Promise<void> {
	const { policies, prices, model, contextWindow, minTurns, files: eachFile = false, html, json } = options;
	const { policy: configured, layers } = await commandConfig(options);
	const window_turns = options.windowTurns ?? configured.mask.window_turns;
	const policy = { ...configured, mask: { ...configured.mask, window_turns } };
	// `--window-turns` alone asks only for the figures of docs/specs/observation-masking.md#offline-figures.
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
	const leftOut = await addAll(replay, await findConversations(names), policy);
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

/** Returns a sentence on the files that were skipped, if any. */
async function addAll(replay: Replay, files: readonly FoundFile[], policy: Policy): Promise<string | undefined> {
	const leftOut = { unreadable: 0, short: 0 };
	for (const found of files) {
		const what = await addFile(replay, found, policy);
		if (what !== "replayed") leftOut[what] += 1;
	}
	const { unreadable, short } = leftOut;
	const words = [
		[unreadable, unreadable === 1 ? "file" : "files", "that cannot be read as a conversation"],
		[short, short === 1 ? "conversation" : "conversations", "of too few tool turns"],
	].flatMap(([count, ...what]) => (count === 0 ? [] : [[count, ...what].join(" ")]));
	return words.length === 0 ? undefined : `left out ${words.join(", ")}`;
}

async function addFile(replay: Replay, { file, isNamed }: FoundFile, policy: Policy) {
	try {
		const value = await readConversationFile(file, policy.limits.max_file_bytes);
		const isLong = await replay.add({ file, conversation: value }).catch((cause) => {
			if (!(cause instanceof PalimpsestError)) throw cause;
			throw new PalimpsestError(cause.code, `${file}: ${cause.message}`, { cause });
		});
		return isLong ? "replayed" : "short";
	} catch (error) {
		if (!isNamed && error instanceof PalimpsestError && unreadableCodes.includes(error.code)) return "unreadable";
		throw error;
	}
}

export const unreadableCodes = ["invalid_json", "not_a_conversation", "payload_too_large", "unreadable_file"];

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
