/** @import { ReplayPageData } from "../replay-page-data.ts" */

/** Parts of a context from the bottom of the stack to its top: what they are called, and their colour. */
export const parts = /** @type {const} */ ([
	{ key: "system", name: "system", property: "--part-system" },
	{ key: "user", name: "user", property: "--part-user" },
	{ key: "assistant", name: "assistant", property: "--part-assistant" },
	{ key: "results", name: "tool results", property: "--part-results" },
	{ key: "placeholders", name: "placeholders", property: "--part-placeholders" },
]);

/**
 * The numbers of one conversation: those of the calls that are drawn, and for each policy the tokens of each part and
 * the cost so far.
 *
 * @param {ReplayPageData} data
 * @param {number} place in `files`
 */
export function unpack({ files, columns, billedDecimals }, place) {
	const file = files[place];
	if (file === undefined) throw new Error("no such conversation");
	const column = (/** @type {number} */ index) => {
		let sum = 0;
		return (columns[index] ?? []).map((difference) => (sum += difference));
	};
	return {
		file: file.file,
		calls: file.calls,
		at: column(file.at),
		series: file.series.map((series) => {
			const tokens = parts.map(({ key }) => column(series[key]));
			return {
				policy: series.policy,
				tokens,
				total: (tokens[0] ?? []).map((_, call) => tokens.reduce((sum, part) => sum + (part[call] ?? 0), 0)),
				billed: column(series.billed).map((value) => value / 10 ** billedDecimals),
			};
		}),
	};
}

/** @typedef {ReturnType<typeof unpack>} Unpacked */
/** @typedef {Unpacked["series"][number]} UnpackedSeries */
