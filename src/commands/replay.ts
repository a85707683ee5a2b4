import { PalimpsestError } from "../errors.ts";
import { startReplay } from "../operations/replay.ts";
import { replayedPolicies } from "../operations/replay-policies.ts";
import { parsePrices, ratesOfModel, ratesOfPrices } from "../operations/replay-rates.ts";
import { addFiles, leftOutText } from "./conversation-files.ts";
import { type CommonOptions, commandConfig, printJson, readConversationFile, say, show } from "./input-output.ts";
import { maskingTable, modelsText, replayText } from "./replay-table.ts";
import { writePage } from "./report.ts";

interface ReplayOptions extends CommonOptions {
	readonly policies?: string;
	readonly prices?: string;
	readonly model?: string;
	readonly contextWindow?: number;
	readonly minTurns?: number;
	readonly files?: boolean;
	readonly all?: boolean;
	readonly html?: string;
	readonly json?: boolean;
	readonly breaks?: boolean;
	readonly windowTurns?: number;
}

/** For the plots of a page; its tables have all conversations. */
const mostDrawn = 50;
const defaultPolicies = "raw,window:8,stride:10,break_even:8,balanced,clear:30000:3:20000,last:5:10,opencode";

/** `palimpsest replay FILE…` */
export async function replay(names: readonly string[], options: ReplayOptions): Promise<void> {
	if (options.breaks) return (await import("./replay-breaks.ts")).replayBreaks(names, options);
	const {
		policies,
		prices,
		model,
		contextWindow,
		minTurns,
		files: eachFile = false,
		all = false,
		html,
		json,
	} = options;
	const { policy: configured, layers } = await commandConfig(options);
	const window_turns = options.windowTurns ?? configured.mask.window_turns;
	const policy = { ...configured, mask: { ...configured.mask, window_turns } };
	// `--window-turns` alone asks only for the figures of docs/measure.md#offline-figures.
	const comparing = [policies, prices, model, contextWindow, options.files, html];
	const comparesPolicies = options.windowTurns === undefined || comparing.some((given) => given !== undefined);
	const given = prices === undefined ? undefined : ratesOfPrices(parsePrices(prices, configured.prices));
	const models = model === undefined ? [undefined] : [...new Set(model.split(",").map((name) => name.trim()))];
	if (html !== undefined && models.length > 1) {
		throw new PalimpsestError("invalid_argument", "--html draws the sessions of one model: name one with --model.");
	}
	const replayed = comparesPolicies ? await replayedPolicies(policies ?? defaultPolicies, layers) : [];
	const replays = await Promise.all(
		models.map(async (name) => {
			const rates = given ?? (name === undefined ? undefined : await ratesOfModel(name, configured.prices));
			const mostSeries = html === undefined ? 0 : mostDrawn;
			const replay = await startReplay({
				policy,
				policies: replayed,
				rates,
				model: name,
				contextWindow,
				minTurns,
				mostSeries,
			});
			return { name, replay };
		}),
	);
	const { countOf, unreadable } = await addFiles(names, async (file) => {
		const conversation = await readConversationFile(file, policy.limits.max_file_bytes);
		let isLong = false;
		for (const { replay } of replays) {
			isLong = await replay.add({ file, conversation }).catch((cause) => {
				if (!(cause instanceof PalimpsestError)) throw cause;
				throw new PalimpsestError(cause.code, `${file}: ${cause.message}`, { cause });
			});
		}
		return isLong ? "added" : "short";
	});
	const copied = replays[0]?.replay.copied() ?? 0;
	const leftOut = leftOutText([
		...unreadable,
		[countOf("short"), "conversation", "of too few tool turns"],
		[comparesPolicies ? copied : 0, "call", "that another file has too"],
	]);
	const reports = replays.map(({ name = "", replay }) => ({
		model: name,
		report: replay.report(),
		series: replay.series(),
	}));
	const [{ report, series }] = reports as [(typeof reports)[number]];
	if (report.files.length === 0) {
		const reason = leftOut ?? "no .json or .jsonl file";
		throw new PalimpsestError("invalid_argument", `No conversation to replay: ${reason}.`);
	}
	if (html !== undefined) {
		const { replayPage } = await import("../pages/replay-page.ts");
		await writePage(html, await replayPage({ report, series, billedIn: report.billed_in }));
	}
	if (leftOut !== undefined) say(leftOut);
	if (reports.length > 1) {
		if (json) printJson({ models: reports.map(({ model, report }) => ({ model, ...report })) }, 2);
		else show(modelsText(reports, { all }));
		return;
	}
	if (comparesPolicies) {
		if (json) printJson(report, 2);
		else show(replayText(report, { eachFile, all }));
		return;
	}
	const { policies: _, files, prices: __, billed_in: ___, ...total } = report;
	const rows = files.map(({ policies: _, model: __, ...row }) => row);
	if (json) printJson({ ...total, files: rows }, 2);
	else show(maskingTable([...rows, { file: "total", ...total }]));
}
