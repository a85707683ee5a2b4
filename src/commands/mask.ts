import { spellingsOf } from "../json-text/edit.ts";
import { maskConversation } from "../operations/mask.ts";
import {
	type ArchiveCommandOptions,
	type CommonOptions,
	configOf,
	logToStderr,
	printOutcome,
	type RespondWith,
	readDocument,
	say,
	withArchive,
} from "./input-output.ts";

/** `palimpsest mask FILE`: prints the conversation with old tool results masked. */
export async function mask(
	file: string,
	options: CommonOptions & ArchiveCommandOptions & { readonly respondWith: RespondWith },
): Promise<void> {
	const { policy } = await configOf(options);
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const log = logToStderr(() => policy.log_level);
	const outcome = await withArchive(options, policy, (archive) =>
		maskConversation({
			conversation: document.value,
			// A command ends with its answer, so there is no next turn.
			policy,
			archive,
			spellingsOf: (paths) => spellingsOf(document, paths),
			log,
		}),
	);
	await printOutcome(document, outcome, options.respondWith);
	const { masked_tool_results: masked, tool_results: results, tokens } = outcome.report;
	say(`masked ${masked} of ${results} tool results, ${tokens.before} → ${tokens.after} tokens`);
}
