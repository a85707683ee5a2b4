import { modelOfSession } from "../operations/count.ts";
import { listPrunable, type PrunableResult, pruneConversation } from "../operations/prune.ts";
import { proxyPolicy } from "../proxy/defaults.ts";
import { commandConfig, logToStderr, say, show, sourceOf, withArchive } from "./input-output.ts";
import type { SessionOptions } from "./rescue.ts";
import { refuseUsage } from "./usage.ts";
import { readSession, writeSession } from "./write-session.ts";

export interface PruneOptions extends SessionOptions {
	readonly biggest?: number;
	readonly stale?: boolean;
	readonly tool?: readonly string[];
}

/** `palimpsest prune FILE`. Asks in a terminal; without one, or with options, they say what goes. */
export async function prune(file: string, options: PruneOptions): Promise<void> {
	const asks = options.biggest === undefined && !options.stale && options.tool === undefined;
	if (asks && !(process.stdin.isTTY && process.stderr.isTTY)) {
		refuseUsage("expected --biggest, --stale or --tool, since there is no terminal to ask in");
	}
	const policy = proxyPolicy(await commandConfig(options));
	const { document, source } = await readSession(file, policy);
	await withArchive(options, policy, async (archive) => {
		const request = {
			...sourceOf(document, options.dryRun ? undefined : archive),
			policy,
			model: modelOfSession(source),
			log: logToStderr(() => policy.log_level),
		};
		const results = await listPrunable(request);
		const chosen = asks ? await choose(results) : results.filter(chosenBy(options, results));
		if (chosen.length === 0) return say("nothing was chosen, so nothing was written");
		if (options.dryRun) show(`${chosen.map(lineOf).join("\n")}\n`);
		const places = chosen.map(({ place }) => place);
		const { edits, report, error } = await pruneConversation({ ...request, places });
		if (error) throw error;
		const { tokens, economics } = report;
		const { format } = source;
		const dryRun = options.dryRun ?? false;
		await writeSession({ file, document, edits, format, tokens: tokens.after, dryRun, policy });
		say(`results taken out: ${chosen.length}; ${tokens.before} → ${tokens.after} tokens; ${costOf(economics)}`);
	});
}

/** Any of the options may choose a result. */
function chosenBy(
	{ biggest = 0, stale = false, tool = [] }: PruneOptions,
	results: readonly PrunableResult[],
): (result: PrunableResult) => boolean {
	const largest = new Set(results.slice(0, biggest));
	// Of an edited file, agents go on to use what has not changed.
	const isStale = (one: PrunableResult) => one.stale !== null && one.stale !== "edited";
	return (one) => largest.has(one) || (stale && isStale(one)) || (one.tool !== null && tool.includes(one.tool));
}

const mostListed = 100;

async function choose(results: readonly PrunableResult[]): Promise<readonly PrunableResult[]> {
	if (results.length === 0) return [];
	const { isCancel, multiselect } = await import("@clack/prompts");
	const listed = results.slice(0, mostListed);
	const answer = await multiselect<PrunableResult>({
		message: "Which results shall go? The space bar marks one, Enter takes them out.",
		options: listed.map((one) => ({ value: one, label: lineOf(one) })),
		required: false,
		maxItems: 20,
		output: process.stderr,
	});
	return isCancel(answer) ? [] : answer;
}

/** Such as `frees 12 034 · rewrites 40 210 · 9 turns ago · reread · read_file src/a.ts`. */
function lineOf(one: PrunableResult): string {
	const { frees, rewrites, age_turns: age, stale, tool, target } = one;
	const of = [tool ?? "a tool without a name", ...(target === null ? [] : [target])].join(" ");
	const parts = [
		`frees ${grouped(frees)}`,
		`rewrites ${grouped(rewrites)}`,
		age === 1 ? "1 turn ago" : `${age} turns ago`,
		...(stale ? [stale] : []),
	];
	return [...parts, of].join(" · ");
}

function costOf({
	rewritten_tokens: rewritten,
	calls_to_break_even: calls,
}: {
	readonly rewritten_tokens: number;
	readonly calls_to_break_even: number | null;
}): string {
	const worth = calls === null ? "" : calls === 0 ? ", which pays at once" : `, which pays from call ${calls} on`;
	return `the next call writes ${grouped(rewritten)} tokens to the provider's cache again${worth}`;
}

function grouped(count: number): string {
	return String(count).replace(/\B(?=(\d{3})+$)/g, " ");
}
