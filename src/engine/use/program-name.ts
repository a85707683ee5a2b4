/** The name of a program without the folder that it stands in. */
export function programName(word: string | undefined): string | undefined {
	return word === undefined ? undefined : word.slice(word.lastIndexOf("/") + 1);
}
