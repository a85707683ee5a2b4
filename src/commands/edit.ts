import type { BuiltInStrategy } from "../engine/policy/names.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { compactConversation } from "../operations/compact.ts";
import { type SummarySource, strategyOfCall } from "../operations/compaction-request.ts";
import { type CompactionSource, createCompactionSource } from "../operations/config/compaction.ts";
import type { Config } from "../operations/config/config.ts";
import { countingWords } from "../operations/count.ts";
import { shortfallWords } from "../operations/guard.ts";
import { type AutoCompaction, guardWithCompaction } from "../operations/guard-with-compaction.ts";
import { maskConversation } from "../operations/mask.ts";
import {
	commandConfig,
	type EditOptions,
	editConversation,
	type IdleOptions,
	logToStderr,
	printJson,
	readDocument,
	readInput,
	say,
	sayProgress,
	type WindowOptions,
} from "./input-output.ts";
import { exitCodes, refuseUsage } from "./usage.ts";

/** `palimpsest mask FILE` */
export async function mask(file: string, options: EditOptions & IdleOptions): Promise<void> {
	const { policy } = await commandConfig(options);
	const { report } = await editConversation({ file, options, policy }, (call) =>
		maskConversation({ ...call, idleSeconds: options.idleSeconds }),
	);
	const { masked_tool_results: masked, tool_results: results, tokens } = report;
	say(
		`masked ${masked} of ${results} tool results, ${tokens.before} → ${tokens.after} tokens (${countingWords(report)})`,
	);
	for (const note of report.notes) say(note);
}

/** `palimpsest guard FILE`. The exit code is 3 if the result does not fit. */
export async function guard(
	file: string,
	options: EditOptions & WindowOptions & IdleOptions & { readonly lastResponse?: string },
): Promise<void> {
	const config = await commandConfig(options);
	const { policy } = config;
	const { model, contextWindow, reserveTokens, idleSeconds } = options;
	const compaction = commandCompaction(config);
	try {
		const { report } = await editConversation({ file, options, policy }, async (call) => {
			const { lastResponse: last } = options;
			const lastResponse = last === undefined ? last : (await readDocument(last, policy.limits.max_file_bytes)).value;
			const given = { model, contextWindow, reserveTokens, lastResponse, idleSeconds, onProgress: sayProgress };
			return guardWithCompaction({ ...call, ...given, compaction: compaction.open });
		});
		const { fits, tokens, budget_tokens: budget, compaction: compacted } = report;
		if (compacted) say(wordsFor(compacted, file));
		const sizes = `${tokens.before} → ${tokens.after} tokens`;
		const how = `(${countingWords(report)})`;
		if (fits === null) return say(`unknown whether it fits, since no context window is known: ${sizes} ${how}`);
		say(`${fits ? "fits" : shortfallWords(report)}: ${sizes}, budget ${budget} ${how}`);
		if (!fits) process.exitCode = exitCodes.doesNotFit;
	} finally {
		await compaction.close();
	}
}

function wordsFor(compacted: AutoCompaction, file: string): string {
	if (compacted.result === "failed") {
		return `compaction failed, so only the guard ran: [${compacted.code}] ${compacted.message}`;
	}
	if (compacted.result !== "summary_requested") return `compacted first: ${compacted.result}`;
	return `not compacted: a summary is needed, and no model is available. palimpsest compact ${file} --request prints its prompt; compaction.answered_by=["none"] hides and drops instead.`;
}

interface CompactCommandOptions extends EditOptions, WindowOptions {
	readonly strategy?: BuiltInStrategy;
	readonly force?: boolean;
	readonly request?: boolean;
	readonly summary?: string;
	readonly summaryToken?: string;
}

/** `palimpsest compact FILE` */
export async function compact(file: string, options: CompactCommandOptions): Promise<void> {
	const { request, strategy, summary, summaryToken, model, contextWindow, reserveTokens } = options;
	if (summaryToken !== undefined && summary === undefined) {
		refuseUsage("expected --summary-token only together with --summary");
	}
	if (request && strategy === "tool-result-hiding") {
		refuseUsage(`expected --request only with a strategy that summarises, got ${strategy}`);
	}
	const config = await commandConfig(options);
	const { policy } = config;
	const compaction = commandCompaction(config);
	try {
		const outcome = await editConversation({ file, options, policy }, async (call) => {
			const answer = await readSummary(options, policy);
			const isProvider = (strategy ?? policy.compaction.strategy) === "provider";
			const how = await compaction.open({ named: request && !isProvider ? "llm-summary" : strategy, answer });
			const force = options.force === true || answer !== undefined;
			const given = { model, contextWindow, reserveTokens, force, onProgress: sayProgress };
			const compacted = await compactConversation({ ...call, ...how, ...given });
			if (!request) return compacted.request ? refuse(nobodyToAsk) : compacted;
			printJson(compacted.request ?? refuse(nothingToSummarise), 2);
			return undefined;
		});
		if (outcome === undefined) return;
		const { result, trigger, tokens } = outcome.report;
		const what = trigger === "not_due" ? "not due, so nothing was changed (--force compacts anyway)" : result;
		say(`${what}: ${tokens.before} → ${tokens.after} tokens (${countingWords(outcome.report)})`);
	} finally {
		await compaction.close();
	}
}

/** `undefined` if a model is asked. */
async function readSummary(
	{ request, summary, summaryToken: token }: CompactCommandOptions,
	policy: Policy,
): Promise<SummarySource | undefined> {
	if (summary === undefined) return request ? { kind: "caller" } : undefined;
	const text = (await readInput(summary, policy.limits.max_file_bytes)).toString("utf8");
	return { kind: "given", summary: text, token };
}

const nobodyToAsk =
	'A summary is needed, and no model is available. Name one with PALIMPSEST_LLM_URL and PALIMPSEST_LLM_MODEL; or write the summary yourself: --request prints its prompt, and --summary FILE --summary-token TOKEN inserts it; or set compaction.answered_by=["none"] to drop old messages instead.';

const nothingToSummarise =
	"Nothing to summarise: between the task and the newest messages, which stay, there are no messages, or only a summary.";

function refuse(message: string): never {
	throw new PalimpsestError("invalid_argument", message);
}

/**
 * `open` finds the strategy and who writes a summary, by default the endpoint of the environment; it loads nothing
 * before.
 */
function commandCompaction({ policy, file }: Config) {
	let source: CompactionSource | undefined;
	return {
		async open(given: { named?: BuiltInStrategy | undefined; answer?: SummarySource | undefined } = {}) {
			const { named } = given;
			const isProvider = (named ?? policy.compaction.strategy) === "provider";
			source ??= createCompactionSource({
				environment: process.env,
				policyFile: () => file,
				workingDirectory: process.cwd(),
				asks: isProvider ? "provider" : undefined,
			});
			const { endpoint: chat, provider, loadStrategy: load } = source;
			const { answered_by: ways } = policy.compaction;
			const endpoint = isProvider ? provider : chat;
			// A command has no client whose model could be asked, and its caller is asked only by --request.
			const byDefault: SummarySource =
				endpoint && ways.includes("openai-compatible")
					? { kind: "summariser", summariser: endpoint }
					: { kind: ways.includes("none") ? "none" : "caller" };
			const { answer = byDefault } = given;
			const log = logToStderr(() => policy.log_level);
			return { answer, strategy: await strategyOfCall({ named, policy, answer, load, log }) };
		},
		close: async () => source?.close(),
	};
}
