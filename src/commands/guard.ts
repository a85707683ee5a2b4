import { spellingsOf } from "../documents/spellings-of.ts";
import { guardConversation } from "../pipeline/guard-conversation.ts";
import { printOutcome, type RespondWith } from "./conversation-answer.ts";
import { readDocument } from "./read-document.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, logToStderr, say } from "./shell.ts";
import { withArchive } from "./with-archive.ts";

/** The options of `palimpsest guard`. */
export interface GuardCommandOptions extends CommonOptions, ArchiveCommandOptions {
	readonly respondWith: RespondWith;
	readonly model?: string;
	/** Tokens. */
	readonly contextWindow?: number;
	/** Tokens. */
	readonly reserveTokens?: number;
}

/** `palimpsest guard FILE`: prints the conversation brought within the context window, and says whether it fits. */
export async function guard(file: string, options: GuardCommandOptions): Promise<void> {
	const { policy } = await configOf(options);
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const { model, contextWindow, reserveTokens } = options;
	const log = logToStderr(() => policy.log_level);
	const outcome = await withArchive(options, policy, (archive) =>
		guardConversation({
			conversation: document.value,
			// A command ends with its answer, so there is no next turn.
			memory: "none",
			policy,
			archive,
			spellingsOf: (paths) => spellingsOf(document, paths),
			model,
			contextWindow,
			reserveTokens,
			log,
		}),
	);
	await printOutcome(document, outcome, options.respondWith);
	const { fits, tokens, budget_tokens: budget, shortfall_tokens: shortfall } = outcome.report;
	const verdict = fits ? "fits" : `does not fit, ${shortfall} tokens over`;
	say(`${verdict}: ${tokens.before} → ${tokens.after} tokens, budget ${budget}`);
}
