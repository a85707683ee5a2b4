import { type Pipeline, readShellScript, type SimpleCommand } from "./shell-script.ts";
import {
	type CallTarget,
	type FileRead,
	type LineRange,
	normalisePath,
	otherTarget,
	patchPaths,
	type TargetKind,
} from "./targets.ts";

/** Finds the files that a shell script reads and writes, from the folder in which it starts. */
export function shellTarget(script: string, startFolder?: string): CallTarget {
	// The lines after this command are the text to put in, not commands.
	if (/^\s{0,20}edit \d{1,9}:\d{1,9}\b/.test(script)) return { ...otherTarget, kind: "write", openFile: "write" };
	let folder = startFolder;
	let kind: TargetKind = "other";
	let openFile: CallTarget["openFile"];
	let program: string | undefined;
	/** Files that the scripts written here open to write, in case one of them is run here. */
	const scripted: string[] = [];
	const reads = new Map<string, FileRead>();
	const writes = new Set<string>();
	const listed = new Set<string>();
	const addTo = (paths: Set<string>, path: string) => {
		const known = normalisePath(path, folder);
		if (known !== undefined) paths.add(known);
	};
	for (const pipeline of readShellScript(script)) {
		const moved = changedFolder(pipeline, folder);
		if (moved !== undefined) {
			folder = moved;
			continue;
		}
		const effect = effectOfPipeline(pipeline);
		if (weight[effect.kind] > weight[kind]) kind = effect.kind;
		openFile ??= effect.openFile;
		program ??= effect.program;
		scripted.push(...pipeline.flatMap(pathsOfWrittenScripts));
		for (const { path, lines } of effect.reads) {
			const known = normalisePath(path, folder);
			if (known === undefined) continue;
			const before = reads.get(known);
			reads.set(known, { path: known, lines: before ? join(before.lines, lines) : lines });
		}
		for (const path of effect.writes) addTo(writes, path);
		for (const path of effect.folders) addTo(listed, path);
	}
	if (kind === "run") for (const path of scripted) addTo(writes, path);
	return {
		...otherTarget,
		kind,
		paths: kind === "write" ? [...writes] : [...new Set([...reads.keys(), ...listed])],
		reads: kind === "read" ? [...reads.values()] : [],
		writes: [...writes],
		...(folder === undefined ? {} : { folder }),
		...(openFile === undefined ? {} : { openFile }),
		...(program === undefined ? {} : { program }),
	};
}

/** A script that does several things has the kind of the greatest weight. */
const weight: Readonly<Record<TargetKind, number>> = { other: 0, write: 1, list: 2, read: 3, search: 4, run: 5 };

function changedFolder([command]: Pipeline, folder: string | undefined): string | undefined {
	if (command.words[0] !== "cd") return undefined;
	return normalisePath(command.words[1] ?? "~", folder) ?? folder ?? ".";
}

function effectOfPipeline(pipeline: Pipeline): CommandEffect {
	const [first, ...others] = pipeline;
	let effect = effectOf(first);
	const written = [effect.writes, writtenBeside(first)];
	for (const command of others) {
		effect = narrow(effect, command);
		written.push(effectOf(command).writes, writtenBeside(command));
	}
	const writes = written.flat();
	// Text that goes into a file is not in the output.
	const last = pipeline.at(-1) as SimpleCommand;
	const isSilent = last.redirections.some((one) => one.kind === "write") && effect.kind !== "run";
	if (isSilent) return { ...effect, kind: writes.length > 0 ? "write" : "other", reads: [], folders: [], writes };
	return { ...effect, writes };
}

/** The files that a command writes by redirections, a patch in a heredoc, or a script that opens files to write. */
function writtenBeside({ words, redirections }: SimpleCommand): string[] {
	return redirections.flatMap(({ kind, text }) => {
		if (kind === "write" || kind === "write_errors") return text === "/dev/null" ? [] : [text];
		if (kind !== "heredoc") return [];
		if (text.includes("*** Begin Patch") || words[0] === "patch") return patchPaths(text);
		return isInterpreter(words[0]) ? pathsOpenedToWrite(text) : [];
	});
}

/** `cat > fix.py << EOF`: the files that the script in the heredoc opens to write. */
function pathsOfWrittenScripts({ words, redirections }: SimpleCommand): string[] {
	if (isInterpreter(words[0]) || !redirections.some((one) => one.kind === "write")) return [];
	return redirections.flatMap((one) => (one.kind === "heredoc" ? pathsOpenedToWrite(one.text) : []));
}

function isInterpreter(program: string | undefined): boolean {
	return /^(?:.*\/)?(?:python[\d.]*|node|ruby|perl)$/.test(program ?? "");
}

function pathsOpenedToWrite(script: string): string[] {
	const opened = /\bopen\(\s?(['"])([^'"\n]{1,300})\1,\s?['"][wa]/g;
	const written = /\b(?:writeFile(?:Sync)?\(\s?(['"])([^'"\n]{1,300})\1|Path\((['"])([^'"\n]{1,300})\3\)\.write_)/g;
	return [opened, written].flatMap((pattern) =>
		Array.from(script.matchAll(pattern), (match) => (match[2] ?? match[4]) as string),
	);
}

function join(a: FileRead["lines"], b: FileRead["lines"]): FileRead["lines"] {
	if (typeof a === "string" || typeof b === "string") return a === "whole" || b === "whole" ? "whole" : "part";
	const meets = a.from <= b.to + 1 && b.from <= a.to + 1;
	const joined: LineRange = { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
	return meets ? joined : "part";
}

interface CommandEffect extends Pick<CallTarget, "kind" | "reads" | "writes" | "openFile"> {
	readonly folders: readonly string[];
	readonly program?: string | undefined;
}

const nothing: CommandEffect = { kind: "other", reads: [], writes: [], folders: [] };

const silent = new Set(
	"cd echo printf true false : export set unset source . pwd sleep test [ [[ if then else elif fi for do done while case esac { } ! mkdir chmod chown kill wait read shift return exit local declare eval".split(
		" ",
	),
);

const searching = new Set(["grep", "egrep", "fgrep", "rg", "ag", "ack", "search_file", "search_dir"]);

const listing = new Set(["ls", "find", "fd", "tree", "find_file", "dir", "du", "stat", "file", "wc"]);

const paging = new Set(["cat", "less", "more", "bat", "batcat", "nl", "tac"]);

const passing = new Set(["cat", "nl", "less", "more", "tee", "tac", "column", "jq", "fold", "expand"]);

/** Options that take a value as the next word. */
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
};

function effectOf(command: SimpleCommand): CommandEffect {
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
	return effectOfAgentCommand(name, words) ?? { ...nothing, kind: "run", program: programOf(name, words, given) };
}

function narrow(effect: CommandEffect, filter: SimpleCommand): CommandEffect {
	const { words } = unwrap(filter);
	const name = programName(words[0]);
	if (effect.kind === "other") return effectOf(filter);
	if (name === undefined || passing.has(name)) return effect;
	if (searching.has(name) && effect.kind === "read") {
		return { ...nothing, kind: "search", folders: effect.reads.map((read) => read.path) };
	}
	// Of several files it is not known where the filter cuts.
	const [only, ...others] = effect.reads;
	const lines = only && others.length === 0 ? cutLines(only.lines, words) : "part";
	return { ...effect, reads: effect.reads.map(({ path }) => ({ path, lines })) };
}

function reading(paths: readonly string[], lines: FileRead["lines"]): CommandEffect {
	return { ...nothing, kind: "read", reads: paths.map((path) => ({ path, lines })) };
}

function effectOfSed(words: readonly string[]): CommandEffect {
	// On a Mac `-i` takes a suffix, which may be an empty word.
	const given = operands("sed", words.slice(1)).filter((word) => word !== "");
	const hasScript = words.some((word) => /^-[ef]/.test(word));
	const files = hasScript ? given : given.slice(1);
	if (words.some((word) => /^-(?:[A-Za-z]*i|-in-place)/.test(word)))
		return { ...nothing, kind: "write", writes: files };
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
	}
	return undefined;
}

function operands(name: string, words: readonly string[]): string[] {
	const takesValue = valued[name];
	const found: string[] = [];
	for (let index = 0; index < words.length; index += 1) {
		const word = words[index] as string;
		if (word.startsWith("-") && word.length > 1) {
			if (takesValue?.test(word)) index += 1;
			continue;
		}
		found.push(word);
	}
	return found;
}

const prefix = /^[A-Za-z_]\w{0,100}=|^(?:sudo|env|time|nohup|command|exec|then|do|else|!|\{|npx|bunx|rtk)$/;

/** A command without its prefixes: assignments, `sudo`, `timeout 5`, `env`. */
function unwrap(command: SimpleCommand): SimpleCommand {
	let start = 0;
	const { words } = command;
	while (start < words.length) {
		const word = words[start] as string;
		if (prefix.test(word)) start += 1;
		else if (word === "timeout" || word === "nice") start += 2;
		else if (/^(?:uv|poetry|pipenv|pdm|hatch)$/.test(word) && words[start + 1] === "run") start += 2;
		else break;
	}
	return { ...command, words: words.slice(start) };
}

/** `npm run test`, `pytest` of `python -m pytest`, `python check.py`; `undefined` if the script is in the command. */
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

function cutLines(lines: FileRead["lines"], words: readonly string[]): FileRead["lines"] {
	if (lines === "part") return "part";
	const name = programName(words[0]);
	const { from, to } = lines === "whole" ? { from: 1, to: Number.POSITIVE_INFINITY } : lines;
	if (name === "sed") {
		const range = printedLines(words);
		if (range === undefined) return "part";
		return { from: from + range.from - 1, to: Math.min(to, from + range.to - 1) };
	}
	const count = lineCount(words);
	if (count === undefined) return "part";
	if (name === "head") return { from, to: Math.min(to, from + count.lines - 1) };
	if (name !== "tail") return "part";
	if (count.fromStart) return { from: from + count.lines - 1, to };
	return Number.isFinite(to) ? { from: Math.max(from, to - count.lines + 1), to } : "part";
}

/** `-n 20`, `-20`, `-n +5`; 10 where nothing is said. */
function lineCount(words: readonly string[]): { lines: number; fromStart: boolean } | undefined {
	if (words.some((word) => /^(?:-c|--bytes)/.test(word))) return undefined;
	for (const [index, word] of words.entries()) {
		const isApart = word === "-n" || word === "--lines";
		const value = isApart ? words[index + 1] : /^(?:-n|--lines=|-)([+-]?\d.*)/.exec(word)?.[1];
		if (value === undefined) continue;
		const found = /^(\+?)(\d{1,9})$/.exec(value);
		return found ? { lines: Number(found[2]), fromStart: found[1] === "+" } : undefined;
	}
	return { lines: 10, fromStart: false };
}

function printedLines(words: readonly string[]) {
	if (!words.some((word) => /^-[A-Za-z]*n[A-Za-z]*$|^--quiet$|^--silent$/.test(word))) return undefined;
	for (const word of words) {
		const found = /^(\d{1,9})(?:,(\d{1,9}|\$))?p$/.exec(word);
		if (!found) continue;
		const from = Number(found[1]);
		const to = found[2] === undefined ? from : found[2] === "$" ? Number.POSITIVE_INFINITY : Number(found[2]);
		return { from, to };
	}
	return undefined;
}

function writtenByCommand(name: string, words: readonly string[], given: readonly string[]) {
	if (/^(?:rm|touch|tee|truncate|unlink|mv)$/.test(name)) return given;
	if (/^(?:cp|ln|install)$/.test(name)) return given.slice(-1);
	if (name === "dd") return words.flatMap((word) => (word.startsWith("of=") ? [word.slice(3)] : []));
	if (name === "git") return writtenByGit(words);
	const formats = words.includes(name === "prettier" ? "--write" : "-w");
	return /^(?:gofmt|goimports|prettier)$/.test(name) && formats ? given : undefined;
}

/** `git checkout -- FILE`, `git restore FILE`, `git rm FILE`: without files it is not known which ones git changes. */
function writtenByGit(words: readonly string[]): readonly string[] | undefined {
	const [subcommand, ...rest] = words.slice(1).filter((word) => !word.startsWith("-") || word === "--");
	const behindDashes = rest.includes("--") ? rest.slice(rest.indexOf("--") + 1) : undefined;
	if (subcommand === "checkout") return behindDashes;
	const isChange = subcommand === "restore" || subcommand === "rm" || subcommand === "mv";
	const isOfIndex = words.includes("--staged") || words.includes("--cached");
	return isChange && !isOfIndex ? (behindDashes ?? rest) : undefined;
}

function programName(word: string | undefined): string | undefined {
	return word?.slice(word.lastIndexOf("/") + 1);
}
