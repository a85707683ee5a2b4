import { shownName } from "../shell.ts";

/** Where a progress line is drawn: standard error, where that is a terminal. */
export interface ProgressStream {
	readonly isTTY?: boolean | undefined;
	readonly columns?: number | undefined;
	readonly write: (text: string) => unknown;
}

/** A progress line. */
export interface Progress {
	/** Draws it: how many are done, and what comes now. */
	readonly tell: (done: number, now: string) => void;
	/** Takes it away. */
	readonly end: () => void;
}

const barWidth = 24;
const eraseLine = "\r\u001b[2K";

/** Starts a progress line over `total` things; on anything but a terminal it draws nothing. */
export function startProgress(stream: ProgressStream, total: number): Progress {
	if (stream.isTTY !== true || total < 2) return { tell() {}, end() {} };
	// A terminal that does not know its width says 0.
	const columns = stream.columns || 80;
	return {
		tell(done, now) {
			const full = Math.floor((barWidth * done) / total);
			const start = `${"█".repeat(full)}${"░".repeat(barWidth - full)} ${done} of ${total}  `;
			const room = Math.max(0, columns - start.length - 1);
			stream.write(`${eraseLine}${start}${room > 0 ? shownName(now).slice(-room) : ""}`);
		},
		end: () => stream.write(eraseLine),
	};
}
