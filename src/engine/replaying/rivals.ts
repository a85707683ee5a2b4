import type { Message, ToolResult } from "../conversation/transcript.ts";
import { type ReplayHistory, type ReplayResult, startView, walk } from "../masking/history.ts";
import { clearedText } from "../masking/placeholder.ts";
import type { Schedule } from "../masking/replay.ts";

/** A rule that another program ships, so that its bill can be compared on the same conversations (docs/measure.md#rivals). */
export type Rival =
	| {
			/** Clears all results but the last `keep` while the context is over `trigger` tokens and that frees `atLeast`. */
			readonly kind: "clear";
			readonly trigger: number;
			readonly keep: number;
			readonly atLeast: number;
	  }
	/** Keeps the last `keep` results, and acts at every `every`th. */
	| { readonly kind: "last"; readonly keep: number; readonly every: number }
	| { readonly kind: "opencode" }
	| { readonly kind: "gemini-cli" };

/** The text that each program puts in the place of a result. */
export const rivalPlaceholders: Readonly<Record<Rival["kind"], string>> = {
	clear: clearedText,
	// SWE-agent, sweagent/agent/history_processors.py: LastNObservations. The number of lines is an example.
	last: "Old environment output: (40 lines omitted)",
	// opencode, session/message-v2.ts.
	opencode: "[Old tool result content cleared]",
	// gemini-cli, context/toolOutputMaskingService.ts, without the preview of the output that it adds.
	"gemini-cli":
		"<tool_output_masked>\n\nOutput too large. Full output available at: ~/.gemini/tmp/project/tool-outputs/session/output.txt\n</tool_output_masked>",
};

/** opencode, session/compaction.ts: PRUNE_PROTECT, PRUNE_MINIMUM, and the user's turns that stay whole. Failed calls stay too. */
const opencode = { protect: 40_000, atLeast: 20_000, turns: 2 };
/** gemini-cli: DEFAULT_TOOL_PROTECTION_THRESHOLD and DEFAULT_MIN_PRUNABLE_TOKENS_THRESHOLD. */
const geminiCli = { protect: 50_000, atLeast: 30_000 };

/** When a rival's rule masks each result of a history, whose placeholders are the rival's. */
export function rivalSchedule(history: ReplayHistory, rival: Rival): Schedule {
	const { results, firstResult } = history;
	const schedule = new Float64Array(results.length).fill(Number.POSITIVE_INFINITY);
	const view = startView(history);
	const choose = startRule(history, rival);
	let live: number[] = [];
	let arrived = 0;
	walk(history, {
		beforeAnswer(index) {
			const leaving = choose({ live, arrived, index, total: view.total() });
			if (leaving.length === 0) return;
			for (const place of leaving) {
				schedule[place] = index;
				view.mask(place);
			}
			live = live.filter((place) => schedule[place] === Number.POSITIVE_INFINITY);
		},
		call() {},
		append(index) {
			view.append(index);
			for (; arrived < (firstResult[index + 1] as number); arrived += 1) {
				if ((results[arrived] as ReplayResult).saves > 0) live.push(arrived);
			}
		},
	});
	return schedule;
}

interface Moment {
	/** Places of the results that can be masked, oldest first. */
	readonly live: readonly number[];
	/** Results so far. */
	readonly arrived: number;
	/** Messages so far. */
	readonly index: number;
	/** Tokens of the context. */
	readonly total: number;
}

/** Returns the rule: which of the live results it masks at a moment. Moments come in their order. */
function startRule(history: ReplayHistory, rival: Rival): (moment: Moment) => readonly number[] {
	const { results, firstResult, transcript } = history;
	const sumOf = (places: readonly number[], sizeOf: (result: ReplayResult) => number) =>
		places.reduce((sum, place) => sum + sizeOf(results[place] as ReplayResult), 0);
	const messageOf = (place: number) => (results[place] as ReplayResult).message;
	const isError = (place: number) => {
		const message = messageOf(place);
		const { results } = transcript.messages[message] as Message;
		return (results[place - (firstResult[message] as number)] as ToolResult).isError === true;
	};
	/** The places of results older than the newest `protect` estimated tokens of them, if these hold more than `atLeast`. */
	const beyondProtected = (places: readonly number[], { protect, atLeast }: typeof geminiCli) => {
		let tokens = 0;
		const newest = places.findLastIndex((place) => {
			tokens += estimatedTokens(results[place] as ReplayResult);
			return tokens > protect;
		});
		const old = places.slice(0, newest + 1);
		return sumOf(old, estimatedTokens) > atLeast ? old : [];
	};
	switch (rival.kind) {
		case "clear": {
			const { trigger, keep, atLeast } = rival;
			return ({ live, arrived, total }) => {
				if (total <= trigger) return [];
				const old = live.filter((place) => place < arrived - keep);
				return sumOf(old, ({ saves }) => saves) >= atLeast ? old : [];
			};
		}
		case "last": {
			const { keep, every } = rival;
			return ({ live, arrived }) => {
				// The task counts as the first observation, and is never removed.
				const removed = Math.floor((arrived + 1) / every) * every - keep - 1;
				return live.filter((place) => place < removed);
			};
		}
		case "opencode": {
			const requests: number[] = [];
			return ({ live, index }) => {
				const last = transcript.messages[index - 1] as Message;
				if (last.role !== "user" || last.results.length > 0) return [];
				// It prunes once an answer is complete: the next request of the user is the first to show it.
				const end = requests.at(-opencode.turns) ?? 0;
				requests.push(index - 1);
				const old = live.filter((place) => messageOf(place) < end && !isError(place));
				return beyondProtected(old, opencode);
			};
		}
		case "gemini-cli":
			return ({ live, index }) => {
				const old = live.filter((place) => messageOf(place) < index - 1);
				return beyondProtected(old, geminiCli);
			};
	}
}

/** As opencode (`Token.estimate`) and gemini-cli (`estimateTokenCountSync`, for ASCII) take it: four characters a token. */
function estimatedTokens({ outcome }: ReplayResult): number {
	const edits = typeof outcome === "string" ? [] : outcome;
	return edits.reduce((sum, edit) => (edit.unsent ? sum : sum + edit.before.chars / 4), 0);
}
