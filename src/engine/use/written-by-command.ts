/** The files that a command writes; `undefined` for a command that is not known to. */
export function writtenByCommand(
	name: string,
	words: readonly string[],
	given: readonly string[],
): readonly string[] | undefined {
	switch (name) {
		case "rm":
		case "touch":
		case "tee":
		case "truncate":
		case "unlink":
			return given;
		case "mv":
			return given;
		case "cp":
		case "ln":
		case "install":
			return given.slice(-1);
		case "dd":
			return words.flatMap((word) => (word.startsWith("of=") ? [word.slice(3)] : []));
		case "git":
			return writtenByGit(words);
		case "gofmt":
		case "goimports":
			return words.includes("-w") ? given : undefined;
		case "prettier":
			return words.includes("--write") ? given : undefined;
		default:
			return undefined;
	}
}

/** `git checkout -- FILE`, `git restore FILE`, `git rm FILE`: without files git changes no one knows which. */
function writtenByGit(words: readonly string[]): readonly string[] | undefined {
	const [subcommand, ...rest] = words.slice(1).filter((word) => !word.startsWith("-") || word === "--");
	const behindDashes = rest.includes("--") ? rest.slice(rest.indexOf("--") + 1) : undefined;
	if (subcommand === "checkout") return behindDashes;
	if (subcommand === "restore" || subcommand === "rm" || subcommand === "mv") {
		return words.includes("--staged") || words.includes("--cached") ? undefined : (behindDashes ?? rest);
	}
	return undefined;
}
