/** Tells how much is done. */
export type Step = (done: number, total: number) => void;

interface Terminal {
	readonly isTTY?: boolean;
	readonly write: (text: string) => unknown;
}

const betweenMs = 200;

/** While the work runs, a line on a terminal says what is done and for how long. It is gone at the end, and nothing is written elsewhere. */
export async function withProgress<Result>(
	what: string,
	work: (step: Step) => Promise<Result>,
	{ terminal = process.stderr, now = Date.now }: { readonly terminal?: Terminal; readonly now?: () => number } = {},
): Promise<Result> {
	if (!terminal.isTTY) return work(() => {});
	const started = now();
	let last = started;
	let done = "";
	const draw = (): void => {
		last = now();
		const seconds = Math.round((last - started) / 1_000);
		terminal.write(`\r\u001b[K${what}${done} …${seconds > 0 ? ` ${seconds} s` : ""}`);
	};
	const timer = setInterval(draw, 1_000).unref();
	draw();
	try {
		return await work((count, total) => {
			done = `, ${count} of ${total}`;
			if (now() - last >= betweenMs) draw();
		});
	} finally {
		clearInterval(timer);
		terminal.write("\r\u001b[K");
	}
}
