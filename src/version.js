import { readFileSync } from "node:fs";
/** Address of a file of the package. This module is one folder below it, as `src/version.ts` and in a chunk of `dist`. */
export function packageFile(path) {
	return new URL(`../${path}`, import.meta.url);
}
/** The package's version, from its package.json. */
export const version = JSON.parse(readFileSync(packageFile("package.json"), "utf8")).version;
