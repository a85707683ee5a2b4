import type { MaskPolicy } from "../../policy/schema.ts";
import type { ReplayHistory, ReplayResult } from "./history.ts";
import { ruleOf } from "./tool-rule.ts";

/** The placeholders that a history came with: results that went in earlier calls, whose answers were kept as the history. */
export interface PlaceholdersMet {
	/** Takes the next message up. */
	readonly append: (message: number) => void;
	/** Whether some stand for results that may have gone after so many tool turns, and not when this was asked last. */
	readonly haveGone: (turns: number) => boolean;
}

/** Starts with none. Takes time in proportion to the history, and for each question to the results of the window. */
export function startPlaceholdersMet({ results, firstResult }: ReplayHistory, policy: MaskPolicy): PlaceholdersMet {
	/** Tool turns after which the result of each may have gone. */
	let waiting: number[] = [];
	return {
		append(message) {
			const end = firstResult[message + 1] as number;
			for (let place = firstResult[message] as number; place < end; place += 1) {
				const { turn, toolName, outcome } = results[place] as ReplayResult;
				if (turn === undefined || outcome !== "already_masked") continue;
				waiting.push(turn + (ruleOf(policy, toolName) === "always" ? 1 : policy.window_turns));
			}
		},
		haveGone(turns) {
			const still = waiting.filter((from) => from >= turns);
			const haveSome = still.length < waiting.length;
			waiting = still;
			return haveSome;
		},
	};
}
