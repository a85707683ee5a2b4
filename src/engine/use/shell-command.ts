import { cutLines, printedLines } from "./cut-lines.ts";
import { programName } from "./program-name.ts";
import type { SimpleCommand } from "./shell-script.ts";
import type { FileRead, TargetKind } from "./target.ts";
import { writtenByCommand } from "./written-by-command.ts";

/** What one command does, its paths as they are written. */
export interface CommandEffect {
	readonly kind: TargetKind;
	readonly reads: readonly FileRead[];
	readonly writes: readonly string[];
	/** Folders or files that it lists or searches. */
	readonly folders: readonly string[];
	readonly openFile?: "read" | "write";
	readonly program?: string;
}

const nothing: CommandEffect = { kind: "other", reads: [], writes: [], folders: [] };

/** Says nothing about what the output is of. */
const silent = new Set(
	"cd echo printf true false : export set unset source . pwd sleep test [ [[ if then else elif fi for do done while case esac { } ! mkdir chmod chown kill wait read shift return exit local declare eval".split(
		" ",
	),
);
const searching = new Set(["grep", "egrep", "fgrep", "rg", "ag", "ack", "search_file", "search_dir"]);
const listing = new Set(["ls", "find", "fd", "tree", "find_file", "dir", "du", "stat", "file", "wc"]);
const paging = new Set(["cat", "less", "more", "bat", "batcat", "nl", "tac"]);
/** Filters that let every line through or change its looks only. */
const passing = new Set(["cat", "nl", "less", "more", "tee", "tac", "column", "jq", "fold", "expand"]);
/** Options of `head`, `tail`, `grep` and the like that take a value of their own. */
const valued: Readonly<Record<string, RegExp>> = {
	head: /^-[nc]$/,
	tail: /^-[nc]$/,
	grep: /^-[eABCmf]$/,
	rg: /^-[eABCmgtTf]$|^--(?:glob|type|max-count|context)$/,
	sed: /^-[ef]$/,
	nl: /^-[bwsv]$/,
	git: /^-[Cc]$/,
	npm: /^(?:-w|--workspace|--prefix)$/,
	pnpm: /^(?:--filter|-F|-C|--dir)$/,
	gh: /^(?:-R|--repo)$/,
	find_file: /^$/,
};

/** What a command does by itself. */
export function effectOf(command: SimpleCommand): CommandEffect {
	const { words } = unwrap(command);
	const name = programName(words[0]);
	if (name === undefined || silent.has(name)) return nothing;
	const given = operands(name, words.slice(1));
	if (paging.has(name)) return given.length === 0 ? nothing : reading(given, "whole");
	if (name === "head" || name === "tail")
		return given.length === 0 ? nothing : reading(given, cutLines("whole", words));
	if (name === "sed") return effectOfSed(words);
	if (searching.has(name)) return { ...nothing, kind: "search", folders: given.slice(1) };
	if (listing.has(name)) return { ...nothing, kind: "list", folders: name === "find_file" ? given.slice(1) : given };
	const written = writtenByCommand(name, words, given);
	if (written) return { ...nothing, kind: "write", writes: written };
	return effectOfAgentCommand(name, words) ?? { ...nothing, kind: "run", ...family(programOf(name, words, given)) };
}

/** What is left of a command's output behind a filter. */
export function narrow(effect: CommandEffect, filter: SimpleCommand): CommandEffect {
	const { words } = unwrap(filter);
	const name = programName(words[0]);
	if (effect.kind === "other") return effectOf(filter);
	if (effect.kind === "run" || name === undefined || passing.has(name)) return effect;
	if (searching.has(name) && effect.kind === "read") {
		return { ...nothing, kind: "search", folders: effect.reads.map((read) => read.path) };
	}
	// One command's output is cut here; of several files no one knows where.
	const reads = effect.reads.map(({ path, lines }): FileRead => {
		return { path, lines: effect.reads.length === 1 ? cutLines(lines, words) : "part" };
	});
	return { ...effect, reads };
}

function reading(paths: readonly string[], lines: FileRead["lines"]): CommandEffect {
	return { ...nothing, kind: "read", reads: paths.map((path) => ({ path, lines })) };
}

function effectOfSed(words: readonly string[]): CommandEffect {
	const given = operands("sed", words.slice(1));
	const hasScript = words.some((word) => word === "-e" || word === "-f");
	const files = hasScript ? given : given.slice(1);
	if (words.some((word) => /^-(?:[A-Za-z]*i|-in-place)/.test(word))) {
		// On a Mac `-i` takes a suffix, which may be an empty word.
		return { ...nothing, kind: "write", writes: files.filter((file) => file !== "") };
	}
	if (files.length === 0) return nothing;
	return reading(files, printedLines(words) ?? "part");
}

/** The commands of SWE-agent's shell, which keeps a file open. */
function effectOfAgentCommand(name: string, words: readonly string[]): CommandEffect | undefined {
	switch (name) {
		case "open":
			return words[1] === undefined ? undefined : { ...reading([words[1]], "part"), openFile: "read" };
		case "create":
			return words[1] === undefined ? undefined : { ...nothing, kind: "write", writes: [words[1]], openFile: "write" };
		case "goto":
		case "scroll_up":
		case "scroll_down":
			return { ...nothing, kind: "read", openFile: "read" };
		default:
			return undefined;
	}
}

/** The words that are no options nor their values. */
function operands(name: string, words: readonly string[]): string[] {
	const takesValue = valued[name];
	const found: string[] = [];
	for (let index = 0; index < words.length; index += 1) {
		const word = words[index] as string;
		if (word === "--") continue;
		if (word.startsWith("-") && word.length > 1) {
			if (takesValue?.test(word)) index += 1;
			continue;
		}
		found.push(word);
	}
	return found;
}

/** A command without what stands before it: assignments, `sudo`, `timeout 5`, `env`. */
function unwrap(command: SimpleCommand): SimpleCommand {
	let start = 0;
	const { words } = command;
	while (start < words.length) {
		const word = words[start] as string;
		if (
			/^[A-Za-z_]\w{0,100}=/.test(word) ||
			/^(?:sudo|env|time|nohup|command|exec|then|do|else|!|\{|npx|bunx|rtk)$/.test(word)
		)
			start += 1;
		else if (word === "timeout" || word === "nice") start += 2;
		else if (/^(?:uv|poetry|pipenv|pdm|hatch)$/.test(word) && words[start + 1] === "run") start += 2;
		else break;
	}
	return start === 0 ? command : { ...command, words: words.slice(start) };
}

function family(program: string | undefined) {
	return program === undefined ? {} : { program };
}

/**
 * Program and subcommand (`npm run test`, `git diff`), module (`pytest` of `python -m pytest`) or script
 * (`python check.py`); `undefined` where the program is given its script in the command.
 */
function programOf(name: string, words: readonly string[], given: readonly string[]): string | undefined {
	if (/^(?:python[\d.]*|node|ruby|perl|sh|bash|zsh|deno|tsx)$/.test(name)) {
		const module = words.indexOf("-m");
		if (module !== -1 && words[module + 1] !== undefined) return words[module + 1];
		const script = words.some((word) => /^-(?:\w*[ceEp]|-eval|-print)$/.test(word)) ? undefined : given[0];
		return script === undefined || script === "-" || script.length > 200 ? undefined : `${name} ${script}`;
	}
	const [subcommand = "", script = ""] = given;
	if (!/^[a-z][a-z:-]{1,30}$/i.test(subcommand)) return name;
	const isRun = subcommand === "run" && /^[\w:./-]{1,60}$/.test(script);
	return isRun ? `${name} run ${script}` : `${name} ${subcommand}`;
}
