import { type PickedRange, pickRange } from "../../engine/compaction/pick-range.ts";
import { PalimpsestError } from "../../errors.ts";
import type { ReadConversation } from "../../formats/read-conversation.ts";
import { sha256Of } from "../../json-text/value.ts";
import { rangeJson } from "./range-json.ts";

/** Characters of the digest: an accident is out of the question, and nobody gains by a forged one. */
const digestLength = 12;
const grammar = /^(\d{1,9})-(\d{1,9})-([0-9a-f]{12})$/;

/** Names a range for the caller who is to summarise it: first and last message, and a digest of what they say. */
export function summaryToken(source: ReadConversation, range: PickedRange): string {
	const digest = sha256Of(rangeJson(source, range)).slice(0, digestLength);
	return `${range.first}-${range.messages.at(-1)}-${digest}`;
}

/**
 * The range that a token names, in the conversation as it is now: it may have grown at its end since.
 *
 * @throws PalimpsestError `invalid_argument` for what is no token, `stale_edit` where those messages are not there any
 * more.
 */
export function rangeOfToken(source: ReadConversation, token: string): PickedRange {
	const [, first, last] = grammar.exec(token) ?? [];
	if (first === undefined || last === undefined) {
		throw new PalimpsestError(
			"invalid_argument",
			"Expected `summary_token` exactly as the request for the summary gave it.",
		);
	}
	const whole = pickRange({ transcript: source.transcript, keepLastMessages: 0, pinTask: false });
	const within = ({ messages }: { readonly messages: readonly number[] }) =>
		messages.every((index) => index >= Number(first) && index <= Number(last));
	const groups = whole?.groups.filter(within) ?? [];
	const messages = groups.flatMap((group) => group.messages).toSorted((a, b) => a - b);
	const range = { messages, groups, first: messages[0] ?? -1 };
	if (messages.length > 0 && summaryToken(source, range) === token) return range;
	throw new PalimpsestError(
		"stale_edit",
		"The messages that the summary is of are not in this conversation as they were. Call again without `summary` for a new request.",
	);
}
