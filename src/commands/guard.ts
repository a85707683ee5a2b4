import { spellingsOf } from "../json-text/edit.ts";
import { type AutoCompaction, guardWithCompaction } from "../operations/guard-with-compaction.ts";
import { compactionOfCommand } from "./compact.ts";
import {
	type ArchiveCommandOptions,
	type CommonOptions,
	configOf,
	logToStderr,
	printOutcome,
	type RespondWith,
	readDocument,
	say,
	sayProgress,
	withArchive,
} from "./input-output.ts";
import { exitCodes } from "./usage.ts";

/** The options of `palimpsest guard`. */
export interface GuardCommandOptions extends CommonOptions, ArchiveCommandOptions {
	readonly respondWith: RespondWith;
	readonly model?: string;
	/** Tokens. */
	readonly contextWindow?: number;
	/** Tokens. */
	readonly reserveTokens?: number;
	/** File with what the provider answered to the conversation's last call. */
	readonly lastResponse?: string;
}

/**
 * `palimpsest guard FILE`: prints the conversation brought within the context window, and says whether it fits. Ends with 3
 * where it does not.
 */
export async function guard(file: string, options: GuardCommandOptions): Promise<void> {
	const config = await configOf(options);
	const { policy } = config;
	const { max_file_bytes: maxBytes } = policy.limits;
	const document = await readDocument(file, maxBytes);
	const { model, contextWindow, reserveTokens, lastResponse: ofLast } = options;
	const lastResponse = ofLast === undefined ? undefined : (await readDocument(ofLast, maxBytes)).value;
	const log = logToStderr(() => policy.log_level);
	const compaction = compactionOfCommand(config, log);
	try {
		const outcome = await withArchive(options, policy, (archive) =>
			guardWithCompaction({
				conversation: document.value,
				// A command ends with its answer, so there is no next turn.
				policy,
				archive,
				spellingsOf: (paths) => spellingsOf(document, paths),
				model,
				contextWindow,
				reserveTokens,
				lastResponse,
				compaction: compaction.open,
				onProgress: sayProgress,
				log,
			}),
		);
		await printOutcome(document, outcome, options.respondWith);
		const { fits, tokens, budget_tokens: budget, shortfall_tokens: shortfall, compaction: compacted } = outcome.report;
		if (compacted) say(wordsFor(compacted, file));
		const sizes = `${tokens.before} → ${tokens.after} tokens`;
		if (fits === null) return say(`may fit or not, since no context window is known: ${sizes}`);
		const verdict = fits ? "fits" : `does not fit, ${shortfall} tokens over`;
		say(`${verdict}: ${sizes}, budget ${budget}`);
		if (!fits) process.exitCode = exitCodes.doesNotFit;
	} finally {
		await compaction.close();
	}
}

function wordsFor(compacted: AutoCompaction, file: string): string {
	if (compacted.result === "failed")
		return `compacting failed, guarded without: [${compacted.code}] ${compacted.message}`;
	if (compacted.result !== "summary_requested") return `compacted first: ${compacted.result}`;
	return `not compacted: a summary is wanted, and there is nobody to ask. palimpsest compact ${file} --request prints what to write it from; compaction.answered_by=["none"] hides and drops instead.`;
}
