import { createCompactionSource } from "../config/create-compaction-source.ts";
import { spellingsOf } from "../documents/spellings-of.ts";
import { PalimpsestError } from "../errors.ts";
import { compactConversation } from "../pipeline/compaction/compact-conversation.ts";
import { strategyOfCall } from "../pipeline/compaction/strategy-of-call.ts";
import type { SummarySource } from "../pipeline/compaction/summary-source.ts";
import type { Policy } from "../policy/schema.ts";
import type { BuiltInStrategy } from "../policy/strategy-name.ts";
import type { Summariser, SummaryProgress } from "../summarise/summariser.ts";
import { printOutcome, type RespondWith } from "./conversation-answer.ts";
import { readDocument } from "./read-document.ts";
import { readInput, textOf } from "./read-input.ts";
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
	const { policy, file: policyFile } = await configOf(options);
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const log = logToStderr(() => policy.log_level);
	const source = createCompactionSource({
		environment: process.env,
		policyFile: () => policyFile?.path ?? null,
		workingDirectory: process.cwd(),
	});
	try {
		const answer = await answerOf(options, policy, source.endpoint);
		const strategy = await strategyOfCall({
			named: options.strategy,
			policy,
			answer,
			load: source.loadStrategy,
			log,
		});
		const { model, contextWindow, reserveTokens, force } = options;
		const outcome = await withArchive(options, policy, (archive) =>
			compactConversation({
				conversation: document.value,
				memory: "none",
				policy,
				strategy,
				answer,
				archive,
				spellingsOf: (paths) => spellingsOf(document, paths),
				model,
				contextWindow,
				reserveTokens,
				force: force === true || answer.kind === "given",
				onProgress: tellProgress,
				log,
			}),
		);
		if (outcome.request) return options.request ? printJson(outcome.request, 2) : refuse();
		printOutcome(document, outcome, options.respondWith);
		const { result, trigger, tokens } = outcome.report;
		const what = trigger === "not_due" ? "not due, so nothing was changed (--force does it all the same)" : result;
		say(`${what}: ${tokens.before} → ${tokens.after} tokens`);
	} finally {
		await source.close();
	}
}

async function answerOf(
	{ request, summary, summaryToken }: CompactCommandOptions,
	policy: Policy,
	endpoint: Summariser | undefined,
): Promise<SummarySource> {
	if (summary !== undefined) {
		const text = textOf(await readInput(summary, policy.limits.max_file_bytes));
		return { kind: "given", summary: text, token: summaryToken };
	}
	if (request) return { kind: "caller" };
	const { answered_by: ways } = policy.compaction;
	if (endpoint && ways.includes("openai-compatible")) return { kind: "summariser", summariser: endpoint };
	return { kind: ways.includes("none") ? "none" : "caller" };
}

function refuse(): never {
	throw new PalimpsestError(
		"invalid_argument",
		'A summary is needed, and there is nobody to ask. Name a model by PALIMPSEST_LLM_URL and PALIMPSEST_LLM_MODEL; or write it yourself: --request prints what from, and --summary FILE --summary-token TOKEN puts it in; or set compaction.answered_by=["none"] to drop old messages instead.',
	);
}

function tellProgress(progress: SummaryProgress): void {
	if (progress.kind === "retry") {
		const { attempt, max_retries, delay, code } = progress;
		say(`retry ${attempt} of ${max_retries} in ${delay} s (${code})`);
	} else if (progress.phase !== "waiting") say(progress.phase.replaceAll("_", " "));
}
