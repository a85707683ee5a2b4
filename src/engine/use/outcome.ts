import { exitCodeIn } from "./exit-code.ts";

/** Characters of an output's end in which it counts what it did. */
const reach = 3_000;
/** Most facts that are told. */
const most = 4;

const counts: readonly RegExp[] = [
	// "3 failed", "12 passed", "0 fail", "2 errors", "4 warnings", "1 skipped"
	/(?<![\w.,:/-])(\d{1,7}) (passed|failed|failing|passing|pass|fail|errors?|failures?|warnings?|skipped|problems?)\b/gi,
	// "Found 3 matches", "2 files changed", "5 tests"
	/(?<![\w.,:/-])(\d{1,7}) (tests?|matches|files? changed|issues|entries|insertions|deletions)\b/gi,
];
const pythonError = /^(?:[\w.]{1,120}\.)?([A-Z][A-Za-z]{1,60}(?:Error|Exception|Interrupt|Exit))(?::|$)/;

/**
 * What came of a command, in few words: its exit code, what it counted (`1 failed`, `12 passed`), the error that it ended
 * with. Looks at both ends of the output only.
 */
export function outcomeOf(text: string): string[] {
	const facts = new Set<string>();
	const code = exitCodeIn(text);
	if (code !== undefined && code !== 0) facts.add(`exit ${code}`);
	const tail = text.slice(-reach);
	const lines = tail.split("\n");
	for (const line of lines.slice(-8)) {
		const found = pythonError.exec(line.slice(0, 200));
		if (found) facts.add(found[1] as string);
	}
	for (const pattern of counts) {
		// The last count of a kind is that of the whole.
		const last = new Map<string, string>();
		for (const [whole, , kind] of tail.matchAll(pattern)) last.set((kind as string).toLowerCase(), whole);
		for (const fact of last.values()) if (!fact.startsWith("0 ") || /fail|error/i.test(fact)) facts.add(fact);
	}
	return [...facts].slice(0, most);
}
