/** Does something with each, a few at a time. After a failure nothing new is begun. */
export async function inParallel<T>(
	items: readonly T[],
	atATime: number,
	act: (item: T) => Promise<void>,
): Promise<void> {
	let next = 0;
	let failed = false;
	const workers = Array.from({ length: Math.min(atATime, items.length) }, async () => {
		while (next < items.length && !failed) {
			const item = items[next] as T;
			next += 1;
			await act(item).catch((error) => {
				failed = true;
				throw error;
			});
		}
	});
	const settled = await Promise.allSettled(workers);
	const failure = settled.find((one) => one.status === "rejected");
	if (failure !== undefined) throw failure.reason;
}
