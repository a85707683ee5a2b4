import { isJsonObject } from "../../engine/conversation/json.ts";
import { measure, type TokenMeter } from "../../engine/conversation/measure.ts";
import type { Transcript } from "../../engine/conversation/transcript.ts";
import { billingHeader } from "../billing/request-head.ts";
import type { SizedPart } from "../billing/unedited-bill.ts";
import { messageKey } from "./identity.ts";

/** The parts of a request. `overhead` are the tokens that a request has in addition to its texts. */
export function partsOf(transcript: Transcript, meter: TokenMeter, overhead: number): SizedPart[] {
	const { messages, surroundingTokens } = measure(transcript, meter, overhead);
	const counted = transcript.surroundings.map(withoutBillingHeader);
	return [
		{ key: messageKey({ role: "other", counted, calls: [], results: [] }), tokens: surroundingTokens },
		...transcript.messages.map((message, index) => ({
			key: messageKey(message),
			tokens: messages[index]?.tokens ?? 0,
		})),
	];
}

/** A change of a message that is sent otherwise than the host sent it. */
export interface PartChange {
	readonly message: number;
	/** Differs for different forms. */
	readonly name: string;
	readonly saved: number;
}

/** The parts after some changes of their messages. */
export function partsAfter(parts: readonly SizedPart[], changes: readonly PartChange[]): SizedPart[] {
	const after = [...parts];
	for (const { message, name, saved } of changes) {
		const part = after[message + 1];
		if (part) after[message + 1] = { key: `${part.key} ${name}`, tokens: part.tokens - saved };
	}
	return after;
}

function withoutBillingHeader(text: string): string {
	if (!text.includes(billingHeader)) return text;
	try {
		const blocks: unknown = JSON.parse(text);
		if (!Array.isArray(blocks)) return text;
		return JSON.stringify(blocks.filter((block) => !isBillingHeader(block)));
	} catch {
		// A system prompt that is a string.
		return text;
	}
}

function isBillingHeader(block: unknown): boolean {
	return isJsonObject(block) && typeof block.text === "string" && block.text.startsWith(billingHeader);
}
