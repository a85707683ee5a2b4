import { type CallTarget, otherTarget, type TargetKind } from "./targets.ts";

/**
 * What a shell script does, by the names of its programs: of several, the one with the most output. Quoted text, comments
 * and heredocs are not commands. Takes linear time.
 */
export function shellTarget(script: string): CallTarget {
	// The lines after this command of SWE-agent are the text to put in.
	if (/^\s{0,20}edit \d{1,9}:\d{1,9}\b/.test(script)) return { ...otherTarget, kind: "write" };
	let best: CallTarget = otherTarget;
	let folder = "";
	let isAsked = false;
	for (const pipeline of bareScript(script).split(/\n|&&|\|\||;/)) {
		const target = targetOf(pipeline);
		isAsked ||= target.kind === "read" || target.kind === "search" || target.isAsked === true;
		if (/^\s*cd\s/.test(pipeline)) folder = `${pipeline.trim()} && `;
		if (weights[target.kind] <= weights[best.kind]) continue;
		const { kind, command } = target;
		best = kind === "run" && command !== undefined ? { ...target, command: folder + command } : target;
	}
	return isAsked ? { ...best, isAsked } : best;
}

/** A script that does several things has the kind of the greatest weight. */
const weights: Readonly<Record<TargetKind, number>> = { other: 0, write: 1, list: 2, read: 3, search: 4, run: 5 };

const kinds: Readonly<Partial<Record<TargetKind, string>>> = {
	other:
		": . [ [[ break case cd chmod chown continue declare done echo elif esac eval exit export false fi for if kill local mkdir printf pwd read return set shift sleep source test then true unset wait while }",
	write: "apply_patch cp create dd install ln mv patch rm tee touch truncate unlink",
	list: "dir du fd file find find_file ls stat tree wc",
	read: "bat batcat cat goto head less more nl open scroll_down scroll_up sed tac tail",
	search: "ack ag egrep fgrep grep rg search_dir search_file",
};

/** What each program does; all others run something. */
const programs = new Map(
	Object.entries(kinds).flatMap(([kind, names]) => names.split(" ").map((name) => [name, kind as TargetKind] as const)),
);

/** Longer scripts are generated. In characters. */
const longest = 20_000;

const quotedText = "'…'";

/** Heredocs, quoted texts, escaped characters and comments. */
const notCommands =
	/<<-? {0,3}(['"]?)(\w{1,40})\1([^\n]*)\n(?:(?:[\s\S]*?\n)??[ \t]*\2[ \t]*(?=\n|$)|[\s\S]*)|'[^']*'|"(?:\\[\s\S]|[^"\\])*"|\\[\s\S]|(?<![^\s;&|])#[^\n]*/g;

function bareScript(script: string): string {
	return script.slice(0, longest).replace(notCommands, (found, _quote, _delimiter, restOfLine?: string) => {
		if (restOfLine !== undefined) return restOfLine;
		if (found.startsWith("#")) return "";
		if (found.startsWith("\\")) return found === "\\\n" ? " " : "x";
		return /^.[\w@%+=:,./-]+.$/.test(found) ? found.slice(1, -1) : quotedText;
	});
}

/** Output to a file that is not a device. */
const toFile = /(?<![2&>])>>?\|? {0,3}(?![&\s>]|\/dev\/)\S/;

/** A filter shows the kind of what it reads, except that a file searched is a search. */
function targetOf(pipeline: string): CallTarget {
	let target: CallTarget = otherTarget;
	for (const command of pipeline.split("|")) {
		const next = targetOfCommand(command);
		if (target.kind === "other" || (target.kind === "read" && next.kind === "search")) target = next;
	}
	return toFile.test(pipeline) && target.kind !== "run" ? { ...target, kind: "write" } : target;
}

/** What is before a command: assignments, control words, `sudo`, `timeout 5`, `uv run`. */
const prefix =
	/^(?:[A-Za-z_]\w*=\S*|!|sudo|env|time|nohup|command|exec|do|else|then|npx|bunx|rtk|(?:timeout|nice) \S+|(?:uv|poetry|pipenv|pdm|hatch) run)(?: |$)/;

function targetOfCommand(command: string): CallTarget {
	let text = command.replace(/\s+/g, " ").replace(/^[ ({]+|[ )}]+$/g, "");
	for (let found = prefix.exec(text); found; found = prefix.exec(text)) text = text.slice(found[0].length);
	const [path = "", ...words] = text.split(" ");
	const name = path.slice(path.lastIndexOf("/") + 1);
	if (name === "" || (name === "cat" && words.length === 0)) return otherTarget;
	const kind =
		name === "sed" && words.some((word) => /^-(?:[A-Za-z]*i|-in-place)/.test(word)) ? "write" : programs.get(name);
	if (kind === "other") return otherTarget;
	return kind === undefined
		? { ...otherTarget, kind: "run", ...programOf(name, words), ...(asks(name, words) ? { isAsked: true } : {}) }
		: { ...otherTarget, kind, command: text };
}

const asking = {
	programs: new Set(
		"awk curl diff duckdb gawk hexdump http https jq lynx man mysql objdump od pdftotext psql sqlite3 strings wget xmllint xxd yq".split(
			" ",
		),
	),
	subcommands: new Set(
		"api blame capture-pane cat cat-file describe diff explain get grep help info inspect list log logs print search show view".split(
			" ",
		),
	),
};

/** Programs that print what they were asked for, where others report what they did. */
function asks(name: string, words: readonly string[]): boolean {
	if (asking.programs.has(name) || words.includes("--help")) return true;
	const plain = words.filter((word) => /^[a-z][a-z-]{1,20}$/.test(word));
	// Behind `run` stands the name of a script, but for `gh run view`.
	return plain.slice(0, plain[0] === "run" && name !== "gh" ? 1 : 3).some((word) => asking.subcommands.has(word));
}

/** `npm run test`, `git diff`, `python check.py`: another try has the same. None if the program text is in the command. */
function programOf(name: string, words: readonly string[]): Pick<CallTarget, "command"> {
	const given = words.filter((word) => !/^[-<>&]|^\d[<>]/.test(word) && word !== quotedText);
	if (/^(?:python[\d.]*|node|ruby|perl|sh|bash|zsh|deno|tsx)$/.test(name)) {
		return given[0] === undefined || words.some((word) => /^-[ceEp]$/.test(word))
			? {}
			: { command: `${name} ${given[0]}` };
	}
	const subcommands = given.filter((word) => /^[a-z][\w:-]{1,60}$/i.test(word));
	return { command: [name, ...subcommands.slice(0, subcommands[0] === "run" ? 2 : 1)].join(" ") };
}
