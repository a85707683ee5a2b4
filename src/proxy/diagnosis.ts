import type { BreakCause } from "./billing/cache-break.ts";

/** Conversations whose last answer is remembered. */
const mostHeld = 500;

export type Diagnosis = ReturnType<typeof createDiagnosis>;

/**
 * Asks Anthropic's API why its cache broke, with `--diagnose`. Each request names the answer before it, and the API says where the
 * two requests part. Source: https://platform.claude.com/docs/en/build-with-claude/cache-diagnostics
 */
export function createDiagnosis() {
	const answers = new Map<string, string>();
	let isRefused = false;
	return {
		/** The members to add to a request; `undefined` if the host asks itself, or the API has refused. */
		membersFor(conversation: string, host: Readonly<Record<string, unknown>>) {
			if (isRefused || host.diagnostics !== undefined) return undefined;
			return { diagnostics: { previous_message_id: answers.get(conversation) ?? null } };
		},
		answered(conversation: string, id: string | undefined): void {
			answers.delete(conversation);
			if (id !== undefined) answers.set(conversation, id);
			for (const oldest of answers.keys()) {
				if (answers.size <= mostHeld) return;
				answers.delete(oldest);
			}
		},
		/** A gateway that does not know the field refuses it each time. */
		refused(): void {
			isRefused = true;
		},
	};
}

const causes: Readonly<Record<string, BreakCause>> = {
	model_changed: "model",
	system_changed: "system",
	tools_changed: "tools",
	messages_changed: "earlier_message",
};

/** The cause of a break as the API tells it. That a message changed may be our own masking, which the API cannot know. */
export function causeTold(reason: string | undefined, found: BreakCause): BreakCause | undefined {
	const told = reason !== undefined && Object.hasOwn(causes, reason) ? causes[reason] : undefined;
	const isOurs = told === "earlier_message" && (found === "masking" || found === "cut_on_resume");
	return isOurs ? undefined : told;
}
