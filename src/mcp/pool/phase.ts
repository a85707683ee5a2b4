import type { Archive } from "../../archive/archive.ts";

/**
 * What a thread does with its job, shared with the server's thread. Node.js leaks a descriptor if a thread is terminated
 * while it opens a file, so a job that nobody waits for ends in two ways: a thread that computes is terminated, and a
 * thread that reads or writes ends the job itself as soon as that is over.
 */
export type JobPhase = Int32Array;

const [computing, readingOrWriting, unwanted] = [0, 1, 2];

/** In ms: a disk that does not answer must not hold a thread for ever. */
const longestWait = 30_000;

/** The phase of a job that has not begun: a new thread still reads its code. */
export function createJobPhase(): JobPhase {
	return new Int32Array(new SharedArrayBuffer(4)).fill(readingOrWriting);
}

export interface Termination {
	readonly signal: AbortSignal;
	readonly release: () => void;
}

/** In the server's thread: `signal` says when to terminate the thread. Call `release` once the job is over. */
export function terminationOf(phase: JobPhase, cancelled: AbortSignal): Termination {
	const termination = new AbortController();
	let timer: NodeJS.Timeout | undefined;
	const terminate = () => termination.abort(cancelled.reason);
	const cancel = (): void => {
		if (Atomics.exchange(phase, 0, unwanted) === computing) terminate();
		else timer = setTimeout(terminate, longestWait);
	};
	if (cancelled.aborted) cancel();
	else cancelled.addEventListener("abort", cancel, { once: true });
	return {
		signal: termination.signal,
		release(): void {
			clearTimeout(timer);
			cancelled.removeEventListener("abort", cancel);
		},
	};
}

export type DuringFiles = <T>(work: () => Promise<T>) => Promise<T>;

/** In the job's thread, when the job begins. Throws, now and around each piece of work, once nobody waits for the job. */
export function beginComputing(phase: JobPhase): DuringFiles {
	const change = (from: number, to: number): void => {
		if (Atomics.compareExchange(phase, 0, from, to) !== from) throw new Error("Nobody waits for this job.");
	};
	let open = 0;
	change(readingOrWriting, computing);
	return async (work) => {
		if (open === 0) change(computing, readingOrWriting);
		open += 1;
		try {
			return await work();
		} finally {
			open -= 1;
			if (open === 0) change(readingOrWriting, computing);
		}
	};
}

/** The same archive, whose thread counts as reading or writing during each of its operations. */
export function archiveDuringFiles(archive: Archive, duringFiles: DuringFiles): Archive {
	const { put, putInPieces, has, get, read, find } = archive;
	return {
		...archive,
		put: (originals) => duringFiles(() => put(originals)),
		putInPieces: (original, maxBytes) => duringFiles(() => putInPieces(original, maxBytes)),
		has: (ref) => duringFiles(() => has(ref)),
		get: (ref) => duringFiles(() => get(ref)),
		read: (ref, consume) => duringFiles(() => read(ref, consume)),
		find: (toolCallId) => duringFiles(() => find(toolCallId)),
	};
}
