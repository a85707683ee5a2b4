import type { Transcript } from "../engine/transcript.ts";
import type { Policy } from "../policy/schema.ts";
import type { GuardReport } from "./guard-report.ts";

/** Messages that a request sends: what a session has compacted away counts no more. */
export function sentMessages({ messages }: Transcript): number {
	return messages.filter(({ sent }) => sent !== false).length;
}

/** Whether a conversation has as many messages as the policy allows (seed 4, task 3: `message_count >= max_messages`). */
export function longConversation(transcript: Transcript, policy: Policy): Pick<GuardReport, "max_messages"> {
	const { max_messages: limit } = policy.guard;
	if (limit === null) return {};
	const messages = sentMessages(transcript);
	return { max_messages: { limit, messages, reached: messages >= limit } };
}
