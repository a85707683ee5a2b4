/** Waits for a work until the signal is aborted; then rejects with its reason and leaves the work to itself. */
export async function unlessAborted<Value>(
	work: Promise<Value> | Value,
	signal: AbortSignal | undefined,
): Promise<Value> {
	if (!signal) return work;
	let stop = () => {};
	const aborted = new Promise<never>((_, reject) => {
		stop = () => reject(signal.reason);
		signal.addEventListener("abort", stop);
		if (signal.aborted) stop();
	});
	try {
		return await Promise.race([work, aborted]);
	} finally {
		signal.removeEventListener("abort", stop);
	}
}
