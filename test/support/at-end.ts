type End = () => unknown;

const ends = { test: [] as End[], file: [] as End[] };

/**
 * Ends something with the test or the file of tests that started it. Modules beside tests call it in place of a hook of their
 * own: files of tests share their modules, and the hook would be that of the first file.
 */
export function atEnd(of: keyof typeof ends, end: End): void {
	ends[of].push(end);
}

/** For `clean-up.ts` alone. */
export async function runEnds(of: keyof typeof ends): Promise<void> {
	await Promise.all(ends[of].splice(0).map((end) => end()));
}
