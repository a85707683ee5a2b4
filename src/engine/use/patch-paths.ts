/** Headers of a patch as `apply_patch` takes it. */
const patchHeader = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n\r]{1,1000})/gm;
/** Headers of a unified diff; `/dev/null` stands for a file that is not there. */
const diffHeader = /^(?:\+\+\+|---) (?:[ab]\/)?([^\n\r\t]{1,1000})/gm;
/** Most files that are read of a patch. */
const mostFiles = 1_000;

/** The files that a patch changes, as its headers name them: of `apply_patch`, or of a unified diff. */
export function patchPaths(patch: string): string[] {
	const own = pathsBehind(patchHeader, patch);
	return own.length > 0 ? own : pathsBehind(diffHeader, patch);
}

function pathsBehind(header: RegExp, patch: string): string[] {
	const paths = new Set<string>();
	for (const [, written = ""] of patch.matchAll(header)) {
		const path = written.trim();
		if (path !== "" && path !== "/dev/null") paths.add(path);
		if (paths.size >= mostFiles) break;
	}
	return [...paths];
}
