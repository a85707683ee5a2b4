const lineFeed = Buffer.from("\n");

export type HostOutput = ReturnType<typeof createHostOutput>;

/** Writes lines to the host in the order in which they are given, also those that are still being changed. */
export function createHostOutput(write: (bytes: Buffer) => void) {
	let tail: Promise<void> = Promise.resolve();
	let waiting = 0;
	/** Whether a line that passes in parts has not ended. */
	let isInside = false;
	let behind: (Buffer | Promise<Buffer>)[] = [];

	const writeBoth = (bytes: Buffer, end?: Buffer): void => {
		write(bytes);
		if (end) write(end);
	};
	const put = (bytes: Buffer | Promise<Buffer>, end?: Buffer): void => {
		if (waiting === 0 && Buffer.isBuffer(bytes)) {
			writeBoth(bytes, end);
			return;
		}
		waiting += 1;
		tail = tail.then(async () => {
			writeBoth(await bytes, end);
			waiting -= 1;
		});
	};
	return {
		/** Without its line feed. A promise must not reject. */
		line(line: Buffer | Promise<Buffer>): void {
			if (isInside) behind.push(line);
			else put(line, lineFeed);
		},
		/** Part of a line, which `endLine` ends. */
		part(part: Buffer): void {
			isInside = true;
			put(part);
		},
		endLine(): void {
			isInside = false;
			for (const line of behind) put(line, lineFeed);
			behind = [];
		},
		/** Lines and parts that wait for one that is being changed. */
		waiting: () => waiting,
		settled: () => tail,
	};
}
