import { type SizeSum, startSum } from "../../engine/size.ts";
import type { TokenScale } from "../../engine/token-scale.ts";
import type { ToolShare } from "./context-report.ts";
import type { CountedResult } from "./counted-results.ts";
import { scaleParts } from "./scale-parts.ts";

/** What the results of each tool fill, the largest first. */
export function toolShares(results: readonly CountedResult[], scale: TokenScale): ToolShare[] {
	const sums = new Map<string | null, { readonly size: SizeSum; results: number }>();
	for (const { tool, size } of results) {
		const sum = sums.get(tool) ?? { size: startSum(), results: 0 };
		sums.set(tool, sum);
		sum.size.add(size);
		sum.results += 1;
	}
	const all = [...sums];
	const tokens = scaleParts(
		all.map(([, { size }]) => size.total()),
		scale,
	);
	return all
		.map(([tool, { results: count }], index) => ({ tool, tokens: tokens[index] ?? 0, results: count }))
		.sort((a, b) => b.tokens - a.tokens);
}
