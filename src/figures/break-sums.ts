import type { BreakLine, FigureLine } from "./line.ts";

export interface BreakSums {
	readonly cause: string;
	readonly breaks: number;
	/** Sent before and again, and not read from the cache. */
	readonly tokens: number;
	/** US dollars that they cost more than reading them, without breaks of models whose price is unknown. */
	readonly usd: number;
	readonly unpriced_breaks: number;
	/** In ms since 1970. */
	readonly last: number;
	/** MCP servers whose tools changed, with the number of breaks. */
	readonly servers: readonly { readonly server: string; readonly breaks: number }[];
}

/** Sums the breaks of provider's caches by their causes, the dearest first. */
export function startBreakSums() {
	const causes = new Map<string, BreakLine[]>();
	return {
		add(line: FigureLine): void {
			if (line.kind !== "break") return;
			const known = causes.get(line.cause) ?? [];
			known.push(line);
			causes.set(line.cause, known);
		},
		end(): BreakSums[] {
			const sums = Array.from(causes, ([cause, lines]): BreakSums => {
				const sum = (of: (line: BreakLine) => number) => lines.reduce((all, line) => all + of(line), 0);
				return {
					cause,
					breaks: lines.length,
					tokens: sum(({ tokens }) => tokens),
					usd: sum(({ usd = 0 }) => usd),
					unpriced_breaks: lines.filter(({ usd }) => usd === undefined).length,
					last: Math.max(...lines.map(({ at }) => at)),
					servers: serversOf(lines),
				};
			});
			return sums.sort((one, other) => other.usd - one.usd || other.tokens - one.tokens);
		},
	};
}

function serversOf(lines: readonly BreakLine[]): BreakSums["servers"] {
	const counts = new Map<string, number>();
	for (const { servers } of lines) {
		for (const server of Array.isArray(servers) ? servers : []) counts.set(server, (counts.get(server) ?? 0) + 1);
	}
	const found = Array.from(counts, ([server, breaks]) => ({ server, breaks }));
	return found.sort((one, other) => other.breaks - one.breaks);
}
