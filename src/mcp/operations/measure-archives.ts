import type { ArchiveSource } from "../../config/create-archive-source.ts";

/** How much archives hold, together. */
export interface ArchiveSize {
	readonly originals: number;
	/** Bytes of the texts. */
	readonly bytes: number;
}

/** Least time between two measurements, in ms. */
const leastPause = 10_000;
/** So many times as long as a measurement took, nothing is measured: it costs 1 % of one connection or disk at most. */
const pausePerWork = 100;

/**
 * Makes the function that tells how much archives hold. It answers at once with what was measured last, `undefined`
 * before, and has it measured again in the background where that is due: an archive has to look at each of its texts.
 */
export function measureArchives(sources: () => Iterable<ArchiveSource>): () => ArchiveSize | undefined {
	let last: ArchiveSize | undefined;
	let dueAt = 0;

	const measure = async (): Promise<void> => {
		const begun = performance.now();
		dueAt = Number.POSITIVE_INFINITY;
		try {
			let [originals, bytes] = [0, 0];
			for (const source of sources()) {
				const stats = await source.use((archive) => archive.stats());
				originals += stats.originals;
				bytes += stats.bytes;
			}
			last = { originals, bytes };
		} catch {
			// An archive that cannot be reached says so to its callers and to whoever asks whether the server is ready.
			last = undefined;
		}
		const now = performance.now();
		dueAt = now + Math.max(leastPause, pausePerWork * (now - begun));
	};
	return () => {
		if (performance.now() >= dueAt) void measure();
		return last;
	};
}
