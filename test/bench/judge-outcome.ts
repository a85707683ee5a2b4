import type { Message } from "./generate-conversation.ts";

/** One message of what a contender left, in the terms of the generated conversation. */
export interface Survivor {
	readonly role: string;
	/** Absent where the message has lost it or the format has none. */
	readonly id?: string | undefined;
	/** All of its text, the arguments of calls included. */
	readonly text: string;
	/** Ids of the calls that it makes. */
	readonly calls: readonly string[];
	/** Results that it holds. */
	readonly results: readonly { readonly callId: string; readonly failed: boolean }[];
}

/** What is true of the format that a contender works on. */
export interface FormatTraits {
	readonly hasMessageIds: boolean;
	readonly hasErrorFlags: boolean;
}

/** What a contender left of a conversation. */
export interface Judgement {
	readonly messages: number;
	readonly tokens: number;
	/** Results without their call, and calls without the result that they had. */
	readonly brokenPairs: number;
	/** Results left whose message no longer has its id; `null` where the format has no such ids. */
	readonly idsLost: number | null;
	/** Failed results left that no longer say so; `null` where the format has no such flag. */
	readonly errorFlagsLost: number | null;
	/** Whether the first user message is there, unchanged. */
	readonly taskKept: boolean;
}

/** Holds what a contender left against the conversation that it was given. */
export function judgeOutcome(
	original: readonly Message[],
	survivors: readonly Survivor[],
	given: { readonly traits: FormatTraits; readonly countTokens: (text: string) => number },
): Judgement {
	const { traits, countTokens } = given;
	const task = original.find(({ role }) => role === "user")?.text ?? "";
	const results = new Map(original.flatMap((message) => (message.role === "tool" ? [[message.callId, message]] : [])));
	const asked = new Set<string>();
	const answered = new Set<string>();
	let orphans = 0;
	let idsLost = 0;
	let errorFlagsLost = 0;
	for (const survivor of survivors) {
		for (const call of survivor.calls) asked.add(call);
		for (const { callId, failed } of survivor.results) {
			if (!asked.has(callId)) orphans++;
			answered.add(callId);
			const before = results.get(callId);
			if (before?.id !== survivor.id) idsLost++;
			if (before?.failed === true && !failed) errorFlagsLost++;
		}
	}
	const unanswered = [...asked].filter((call) => results.has(call) && !answered.has(call)).length;
	return {
		messages: survivors.length,
		tokens: survivors.reduce((sum, { text }) => sum + countTokens(text), 0),
		brokenPairs: orphans + unanswered,
		idsLost: traits.hasMessageIds ? idsLost : null,
		errorFlagsLost: traits.hasErrorFlags ? errorFlagsLost : null,
		taskKept: survivors.some(({ role, text }) => role === "user" && text === task),
	};
}
