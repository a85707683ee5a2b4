import type { Archive } from "../archive/archive.ts";
import type { Policy } from "../policy/schema.ts";
import { restoreConversation } from "./restore-conversation.ts";
import { restoreInRounds } from "./restore-rounds.ts";

/**
 * Puts archived originals back into a conversation, until nothing more is found.
 *
 * @throws PalimpsestError `not_a_conversation`, `archive_unavailable`.
 */
export function restoreWhole(what: {
	readonly conversation: unknown;
	readonly archive: Archive;
	readonly policy: Policy;
}) {
	const { archive, policy } = what;
	return restoreInRounds(what.conversation, async (conversation) => {
		const restored = await restoreConversation({ conversation, archive, policy });
		return { ...restored, next: restored.conversation };
	}).then(({ last, report }) => ({ conversation: last, report }));
}
