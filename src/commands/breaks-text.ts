import { alignColumns } from "../operations/report-text.ts";
import { whole } from "../operations/window-words.ts";
import { adviceOn } from "../proxy/billing/break-advice.ts";
import type { BreakSums } from "../storage/figures/break-sums.ts";
import { shownName } from "./input-output.ts";

/** Lines of advice on the breaks of a cause: one for each MCP server whose tools changed, at most three. */
export function adviceOnCause(
	{ cause, servers }: Pick<BreakSums, "cause" | "servers">,
	how: Pick<Parameters<typeof adviceOn>[0], "isRecorded"> = {},
): string[] {
	if (servers.length === 0) return [adviceOn({ cause, ...how })].flatMap((advice) => advice ?? []);
	return servers.slice(0, 3).flatMap(({ server, breaks }) => adviceOn({ cause, server, times: breaks }) ?? []);
}

/** A table of causes, and the advice below it. `last` is in ms since 1970. */
export function breaksText(causes: readonly (BreakSums & { readonly advice: readonly string[] })[]): string {
	const isTimed = causes.every(({ last }) => last !== undefined);
	const all = (of: (one: BreakSums) => number) => causes.reduce((sum, one) => sum + of(one), 0);
	const cells = (one: Pick<BreakSums, "breaks" | "tokens" | "usd" | "unpriced_breaks">) => [
		whole(one.breaks),
		whole(one.tokens),
		one.unpriced_breaks === one.breaks ? "–" : one.usd.toFixed(2),
	];
	const sums = {
		breaks: all(({ breaks }) => breaks),
		tokens: all(({ tokens }) => tokens),
		usd: all(({ usd }) => usd),
		unpriced_breaks: all((one) => one.unpriced_breaks),
	};
	const table = alignColumns([
		["Cause", "breaks", "tokens again", "US dollars", ...(isTimed ? ["last"] : [])],
		...causes.map((one) => [
			shownName(one.cause).replaceAll("_", " "),
			...cells(one),
			...(one.last === undefined ? [] : [localTime(one.last)]),
		]),
		["all", ...cells(sums), ...(isTimed ? [""] : [])],
	]);
	const advice = causes.flatMap(({ advice }) => advice.map(shownName));
	const notes = [
		"tokens again: sent in both requests, and not read from the cache; US dollars: their cost above that of reading them.",
		...(sums.unpriced_breaks > 0
			? [`${whole(sums.unpriced_breaks)} of models without a known price: not in the dollars.`]
			: []),
	];
	return `${[...table.map((line) => line.trimEnd()), "", ...notes, ...(advice.length > 0 ? ["", ...advice] : [])].join("\n")}\n`;
}

function localTime(time: number): string {
	const date = new Date(time);
	const two = (value: number) => String(value).padStart(2, "0");
	const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
