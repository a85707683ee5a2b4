import { maskConversation } from "../pipeline/mask-conversation.ts";
import { printOutcome, type RespondWith } from "./conversation-answer.ts";
import { readDocument } from "./read-document.ts";
import { type CommonOptions, configOf, logToStderr, say } from "./shell.ts";

/** `palimpsest mask FILE`: prints the conversation with old tool results masked. */
export async function mask(
	file: string,
	options: CommonOptions & { readonly respondWith: RespondWith },
): Promise<void> {
	const { policy } = await configOf(options);
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const log = logToStderr(() => policy.log_level);
	const outcome = await maskConversation({ conversation: document.value, policy, log });
	printOutcome(document, outcome, options.respondWith);
	const { masked_tool_results: masked, tool_results: results, tokens } = outcome.report;
	say(`masked ${masked} of ${results} tool results, ${tokens.before} → ${tokens.after} tokens`);
}
