let failures = 0;

/** Says whether something is so; the run fails where one thing is not. */
export function check(what: string, isSo: boolean, detail = ""): void {
	if (!isSo) failures += 1;
	process.stdout.write(`${isSo ? "ok  " : "FAIL"} ${what}\n`);
	if (!isSo && detail !== "") process.stdout.write(`${detail.replace(/^/gm, "     ").trimEnd()}\n`);
}

/** How many things were not so. */
export function failureCount(): number {
	return failures;
}
