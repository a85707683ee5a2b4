import { PalimpsestError } from "../errors.ts";
import { spellingsOf } from "../json-text/edit.ts";
import { compactConversation } from "../pipeline/compaction/compact-conversation.ts";
import type { SummarySource } from "../pipeline/compaction/summary-source.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import { compactionOfCommand } from "./compaction-of-command.ts";
import { printOutcome, type RespondWith } from "./conversation-answer.ts";
import { readDocument } from "./read-document.ts";
import { readInput, textOf } from "./read-input.ts";
import { refuseUsage } from "./refuse-usage.ts";
import { sayProgress } from "./say-progress.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, logToStderr, printJson, say } from "./shell.ts";
import { withArchive } from "./with-archive.ts";

/** The options of `palimpsest compact`. */
export interface CompactCommandOptions extends CommonOptions, ArchiveCommandOptions {
	readonly respondWith: RespondWith;
	readonly strategy?: BuiltInStrategy;
	readonly force?: boolean;
	readonly model?: string;
	/** Tokens. */
	readonly contextWindow?: number;
	/** Tokens. */
	readonly reserveTokens?: number;
	/** Print what a summary is to be written from, in place of asking a model. */
	readonly request?: boolean;
	/** File with the summary. */
	readonly summary?: string;
	readonly summaryToken?: string;
}

/** `palimpsest compact FILE`: prints the conversation with old results hidden, or a summary in the place of old messages. */
export async function compact(file: string, options: CompactCommandOptions): Promise<void> {
	checkUsage(options);
	const config = await configOf(options);
	const { policy } = config;
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const log = logToStderr(() => policy.log_level);
	const compaction = compactionOfCommand(config, log);
	try {
		const answer = await broughtOf(options, policy);
		const how = await compaction.open({ named: options.request ? "llm-summary" : options.strategy, answer });
		const { model, contextWindow, reserveTokens, force } = options;
		const outcome = await withArchive(options, policy, (archive) =>
			compactConversation({
				conversation: document.value,
				// A command ends with its answer, so there is no next turn.
				policy,
				...how,
				archive,
				spellingsOf: (paths) => spellingsOf(document, paths),
				model,
				contextWindow,
				reserveTokens,
				force: force === true || answer !== undefined,
				onProgress: sayProgress,
				log,
			}),
		);
		if (options.request) return printJson(outcome.request ?? refuse(nothingToSummarise), 2);
		if (outcome.request) refuse(nobodyToAsk);
		printOutcome(document, outcome, options.respondWith);
		const { result, trigger, tokens } = outcome.report;
		const what = trigger === "not_due" ? "not due, so nothing was changed (--force does it all the same)" : result;
		say(`${what}: ${tokens.before} → ${tokens.after} tokens`);
	} finally {
		await compaction.close();
	}
}

function checkUsage({ request, strategy, summary, summaryToken }: CompactCommandOptions): void {
	if (summaryToken !== undefined && summary === undefined) {
		refuseUsage("expected --summary-token only together with --summary");
	}
	if (request && strategy === "tool-result-hiding") {
		refuseUsage(`expected --request only with a strategy that summarises, got ${strategy}`);
	}
}

/** Where a summary comes from that no model is asked for; `undefined` where one is. */
async function broughtOf(
	{ request, summary, summaryToken }: CompactCommandOptions,
	policy: Policy,
): Promise<SummarySource | undefined> {
	if (summary !== undefined) {
		const text = textOf(await readInput(summary, policy.limits.max_file_bytes));
		return { kind: "given", summary: text, token: summaryToken };
	}
	return request ? { kind: "caller" } : undefined;
}

const nobodyToAsk =
	'A summary is needed, and there is nobody to ask. Name a model by PALIMPSEST_LLM_URL and PALIMPSEST_LLM_MODEL; or write it yourself: --request prints what from, and --summary FILE --summary-token TOKEN puts it in; or set compaction.answered_by=["none"] to drop old messages instead.';
const nothingToSummarise =
	"There is nothing to summarise: beside the task and the newest messages, which stay, there is none, or a summary alone.";

function refuse(message: string): never {
	throw new PalimpsestError("invalid_argument", message);
}
