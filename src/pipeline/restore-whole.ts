import type { Archive } from "../archive/archive.ts";
import type { Policy } from "../policy/schema.ts";
import { type RestoreReport, restoreConversation } from "./restore-conversation.ts";
import { restoreInRounds } from "./restore-rounds.ts";

/**
 * Puts archived originals back into a conversation, until nothing more is found.
 *
 * @throws PalimpsestError `not_a_conversation`, `archive_unavailable`.
 */
export async function restoreWhole(what: {
	readonly conversation: unknown;
	readonly archive: Archive;
	readonly policy: Policy;
	/** Whether what names no reference is looked up by the id of its call. */
	readonly byCallId?: boolean | undefined;
}): Promise<{ readonly conversation: unknown; readonly report: RestoreReport }> {
	const { archive, policy, byCallId } = what;
	const { last, report } = await restoreInRounds(what.conversation, async (conversation) => {
		const restored = await restoreConversation({ conversation, archive, policy, byCallId });
		return { next: restored.conversation, report: restored.report };
	});
	return { conversation: last, report };
}
