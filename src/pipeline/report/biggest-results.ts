import { findUses, type Uses } from "../../engine/replay/uses.ts";
import { likelyTokens, type TokenScale } from "../../engine/token-scale.ts";
import { toolTurns } from "../../engine/tool-turns.ts";
import type { Transcript } from "../../engine/transcript.ts";
import { resultTargets } from "../../engine/use/result-targets.ts";
import { findStale } from "../../engine/use/staleness.ts";
import type { LargeResult } from "./context-report.ts";
import type { CountedResult } from "./counted-results.ts";
import { targetText } from "./target-text.ts";

const most = 10;
/** Results up to which a string that stands in all of them says that each was used. */
const mostHolders = 3;

/** The largest results, largest first; of two that are as large the later one. */
export function biggestResults(
	results: readonly CountedResult[],
	{ transcript, scale }: { readonly transcript: Transcript; readonly scale: TokenScale },
): LargeResult[] {
	const largest = results.toSorted((a, b) => b.size.tokens - a.size.tokens || b.place - a.place).slice(0, most);
	if (largest.length === 0) return [];
	const turns = toolTurns(transcript);
	const used = usedResults(findUses(transcript));
	const stale = findStale(transcript);
	const targets = resultTargets(transcript);
	return largest.map(({ place, tool, result, message, size }) => ({
		tool,
		call_id: result.callId ?? null,
		target: targetText(targets[place]),
		message,
		tokens: likelyTokens(size, scale),
		age_turns: turns.filter((turn) => turn > message).length,
		used_since: used.has(place),
		stale: stale[place] !== undefined,
	}));
}

/** The results that an assistant message took a string from which was theirs. */
function usedResults({ identifiers, lines }: Uses): ReadonlySet<number> {
	const used = new Set<number>();
	for (const { holders } of [identifiers, lines].flat(2)) {
		if (holders.length <= mostHolders) for (const place of holders) used.add(place);
	}
	return used;
}
