import { groupBy } from "../../engine/conversation/lists.ts";
import type { BreakLine } from "./line.ts";

type SummedBreak = Pick<BreakLine, "cause" | "tokens" | "usd" | "servers"> & { readonly at?: number };

export type BreakSums = ReturnType<typeof sumBreaks>[number];

/** Sums breaks of providers' caches by their causes, the dearest first. */
export function sumBreaks(breaks: readonly SummedBreak[]) {
	const causes = Array.from(
		groupBy(breaks, ({ cause }) => cause),
		([cause, own]) => {
			const sum = (of: (one: SummedBreak) => number) => own.reduce((all, one) => all + of(one), 0);
			const latest = own.reduce((last, { at = 0 }) => Math.max(last, at), 0);
			return {
				cause,
				breaks: own.length,
				/** Sent before and again, and not read from the cache. */
				tokens: sum(({ tokens }) => tokens),
				/** US dollars that they cost more than reading them, without breaks of models whose price is unknown. */
				usd: sum(({ usd = 0 }) => usd),
				unpriced_breaks: own.filter(({ usd }) => usd === undefined).length,
				/** In ms since 1970; absent if no break has a time. */
				...(latest > 0 && { last: latest }),
				/** MCP servers whose tools changed, with the number of breaks. */
				servers: serversOf(own),
			};
		},
	);
	return causes.sort((one, other) => other.usd - one.usd || other.tokens - one.tokens);
}

function serversOf(breaks: readonly SummedBreak[]) {
	const named = breaks.flatMap(({ servers = [] }) => servers);
	const found = Array.from(
		groupBy(named, (server) => server),
		([server, own]) => ({ server, breaks: own.length }),
	);
	return found.sort((one, other) => other.breaks - one.breaks);
}
