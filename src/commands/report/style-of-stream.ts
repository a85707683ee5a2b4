import type { ContextTextStyle } from "../../pipeline/report/context-text.ts";

/** Where a report is written. */
export interface ReportStream {
	readonly isTTY?: boolean | undefined;
	/** Characters of a line; a terminal that does not know its width says 0. */
	readonly columns?: number | undefined;
}

const columnsOfFiles = 100;
const widest = 140;

/**
 * How a report is written to a stream: in a terminal as wide as it is, up to 140 columns, with bars of Unicode blocks;
 * elsewhere, and where `NO_COLOR` asks for plain output (https://no-color.org) or the terminal is `dumb`, in ASCII, and
 * 100 columns wide where there is no terminal.
 */
export function styleOfStream(
	{ isTTY, columns }: ReportStream,
	{ NO_COLOR, TERM }: Readonly<Record<string, string | undefined>>,
): ContextTextStyle {
	const isPlain = isTTY !== true || (NO_COLOR ?? "") !== "" || TERM === "dumb";
	return {
		columns: isTTY === true ? Math.min(widest, columns || columnsOfFiles) : columnsOfFiles,
		bars: isPlain ? "ascii" : "blocks",
	};
}
