import type { Message } from "../../../src/engine/conversation/transcript.ts";
import type { ReplayHistory, ReplayResult } from "../../../src/engine/masking/history.ts";
import type { Taken } from "../../../src/engine/masking/uses.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

interface PlainResult {
	readonly tokens: number;
	readonly saves: number;
	readonly digest?: readonly string[];
	readonly isError?: boolean;
	/** Characters of the text; a placeholder of `tokens - saves` tokens takes its place. */
	readonly chars?: number;
}

/** A message with its own tokens, and what it holds and takes. Uses name the places of results. */
export interface PlainMessage {
	readonly role: Message["role"];
	readonly tokens: number;
	readonly results?: readonly PlainResult[];
	readonly identifiers?: readonly (readonly number[])[];
	readonly lines?: readonly (readonly number[])[];
	readonly cold?: boolean;
}

/** A history in plain numbers. The text of each use is the places of its holders. */
export function plainHistory(messages: readonly PlainMessage[], surroundingTokens = 0): ReplayHistory {
	const firstResult = Int32Array.from({ length: messages.length + 1 }, (_, end) =>
		messages.slice(0, end).reduce((sum, { results = [] }) => sum + results.length, 0),
	);
	const isAnswer = (message: PlainMessage | undefined) => message?.role === "assistant";
	const calls = messages.flatMap((message, index) => {
		const last = messages[index - 1];
		return isAnswer(message) && (!isAnswer(last) || last?.results) ? [index] : [];
	});
	const opens = messages.map((message, index) => (isAnswer(message) && messages[index + 1]?.results ? 1 : 0));
	const turnAt = (index: number) => opens.slice(0, index).filter((one) => one === 1).length - 1;
	const results = messages.flatMap(({ results = [] }, message) =>
		results.map((one): ReplayResult => {
			const { tokens, saves, digest = [], chars = 4 * tokens } = one;
			const edit = { after: { chars: 1, tokens: tokens - saves }, before: { chars, tokens } };
			const outcome = (saves > 0 ? [edit] : "no_saving") as ReplayResult["outcome"];
			return {
				message,
				turn: turnAt(message),
				toolName: "t",
				tokens,
				saves,
				outcome,
				digest,
				staysUntil: -1,
				usedUntil: -1,
			};
		}),
	);
	const usesOf = (kind: "identifiers" | "lines") =>
		messages.map((message) => (message[kind] ?? []).map((holders): Taken => ({ text: `${holders}`, holders })));
	const uses = { identifiers: usesOf("identifiers"), lines: usesOf("lines"), touches: [], fresh: [] };
	return {
		transcript: transcriptOf(
			...messages.map(({ role, results: held = [] }) =>
				messageOf({ role, results: held.map(({ isError }) => ({ ...resultOf(undefined), isError })) }),
			),
		),
		messageTokens: messages.map(({ tokens, results: held = [] }) =>
			held.reduce((sum, one) => sum + one.tokens, tokens),
		),
		surroundingTokens,
		results,
		masked: new Set(),
		firstResult,
		opensTurn: Uint8Array.from(opens),
		calls,
		cold: Uint8Array.from([...messages.map(({ cold }) => (cold ? 1 : 0)), 0]),
		uses: () => uses,
		lastingUses: () => uses,
		looseTokens: () => new Float64Array(messages.length),
		stale: () => results.map(() => undefined),
	};
}

export const user = (tokens: number): PlainMessage => ({ role: "user", tokens });

/** An answer of 5 tokens, with what it takes from results. */
export const answer = (more: Partial<PlainMessage> = {}): PlainMessage => ({ role: "assistant", tokens: 5, ...more });

/** A message of tool results alone: the tokens of each, and what masking it saves. */
export const tool = (...sizes: readonly (readonly [tokens: number, saves: number])[]): PlainMessage => ({
	role: "tool",
	tokens: 0,
	results: sizes.map(([tokens, saves]) => ({ tokens, saves })),
});

/** Calls are at messages 1, 3, 5, 7 and 9; results 0 to 3 at 2, 4, 6 and 8. */
export const sampleHistory = plainHistory([
	user(20),
	answer(),
	tool([100, 80]),
	answer(),
	tool([50, 40]),
	answer({ identifiers: [[0]], lines: [[1]] }),
	tool([10, 0]),
	answer({ identifiers: [[0], [1]] }),
	tool([30, 20]),
	answer({ identifiers: [[1], [2], [0, 1], [2, 3]] }),
]);
