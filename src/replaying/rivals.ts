import { type ReplayHistory, startView, walk } from "../masking/history.ts";
import type { Schedule } from "../masking/replay.ts";

/** A rule that another program ships, so that its bill can be compared on the same conversations (docs/replay.md#rivals). */
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
	// langchain, agents/middleware/context_editing.py: DEFAULT_TOOL_PLACEHOLDER.
	clear: "[cleared]",
	// SWE-agent, sweagent/agent/history_processors.py: LastNObservations. The number of lines stands for any.
	last: "Old environment output: (40 lines omitted)",
	// opencode, session/message-v2.ts.
	opencode: "[Old tool result content cleared]",
	// gemini-cli, context/toolOutputMaskingService.ts, without the preview of the output that it adds.
	"gemini-cli":
		"<tool_output_masked>\n\nOutput too large. Full output available at: /tmp/tool-outputs/session/output.txt\n</tool_output_masked>",
};

/** opencode, session/compaction.ts: PRUNE_PROTECT, PRUNE_MINIMUM, and the user's turns that stay whole. */
const opencode = { protect: 40_000, atLeast: 20_000, turns: 2 };
/** gemini-cli: DEFAULT_TOOL_PROTECTION_THRESHOLD and DEFAULT_MIN_PRUNABLE_TOKENS_THRESHOLD. */
const geminiCli = { protect: 50_000, atLeast: 30_000 };

/** When a rival's rule masks each result of a history. */
export function rivalSchedule(history: ReplayHistory, rival: Rival): Schedule {
	const { results, firstResult } = history;
	const schedule = new Float64Array(results.length).fill(Number.POSITIVE_INFINITY);
	const view = startView(history);
	let arrived = 0;
	walk(history, {
		beforeAnswer(index) {
			const live = results.flatMap(({ saves }, place) =>
				place < arrived && saves > 0 && schedule[place] === Number.POSITIVE_INFINITY ? [place] : [],
			);
			for (const place of choose({ history, rival, live, arrived, index, total: view.total() })) {
				schedule[place] = index;
				view.mask(place);
			}
		},
		call() {},
		append(index) {
			view.append(index);
			arrived = firstResult[index + 1] as number;
		},
	});
	return schedule;
}

interface Moment {
	readonly history: ReplayHistory;
	readonly rival: Rival;
	/** Places of the results that can be masked, oldest first. */
	readonly live: readonly number[];
	/** Results so far. */
	readonly arrived: number;
	/** Messages so far. */
	readonly index: number;
	/** Tokens of the context. */
	readonly total: number;
}

function choose({ history, rival, live, arrived, index, total }: Moment): readonly number[] {
	const { results } = history;
	switch (rival.kind) {
		case "clear": {
			if (total <= rival.trigger) return [];
			const old = live.filter((place) => place < arrived - rival.keep);
			const freed = old.reduce((sum, place) => sum + (results[place]?.saves ?? 0), 0);
			return freed >= rival.atLeast ? old : [];
		}
		case "last": {
			// The task counts as the first observation, and is never removed.
			const removed = Math.floor((arrived + 1) / rival.every) * rival.every - rival.keep - 1;
			return live.filter((place) => place < removed);
		}
		case "opencode": {
			const { messages } = history.transcript;
			// It prunes when an answer to the user is complete, so that the next request of the user is the first to show it.
			const isRequest = (message: number) =>
				messages[message]?.role === "user" && messages[message]?.results.length === 0;
			if (!isRequest(index - 1)) return [];
			const requests = messages.flatMap((_, message) => (message < index - 1 && isRequest(message) ? [message] : []));
			const end = requests.at(-opencode.turns) ?? 0;
			return beyondProtected(
				history,
				live.filter((place) => (results[place]?.message ?? 0) < end),
				opencode,
			);
		}
		case "gemini-cli":
			return beyondProtected(
				history,
				live.filter((place) => (results[place]?.message ?? 0) < index - 1),
				geminiCli,
			);
	}
}

/** Of some results, those older than the newest `protect` tokens of them, if they hold `atLeast` tokens. */
function beyondProtected(
	{ results }: ReplayHistory,
	places: readonly number[],
	{ protect, atLeast }: { readonly protect: number; readonly atLeast: number },
): readonly number[] {
	let tokens = 0;
	const old = places.toReversed().filter((place) => {
		tokens += results[place]?.tokens ?? 0;
		return tokens > protect;
	});
	return old.reduce((sum, place) => sum + (results[place]?.tokens ?? 0), 0) > atLeast ? old : [];
}
