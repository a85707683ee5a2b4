import {
	type CallTarget,
	type FileRead,
	type LineRange,
	normalisePath,
	otherTarget,
	patchPaths,
	programName,
	type TargetKind,
} from "./targets.ts";

/** Which kind a script is that does several things: what its output shows most of. */
const weight: Readonly<Record<TargetKind, number>> = { other: 0, write: 1, list: 2, read: 3, search: 4, run: 5 };

/** Reads what a shell script does to which files. `startFolder` is where it starts. */
export function shellTarget(script: string, startFolder?: string): CallTarget {
	// What follows is the text to put in, not commands.
	if (/^\s{0,20}edit \d{1,9}:\d{1,9}\b/.test(script)) return { ...otherTarget, kind: "write", openFile: "write" };
	let folder = startFolder;
	let kind: TargetKind = "other";
	let openFile: CallTarget["openFile"];
	let program: string | undefined;
	/** Files that scripts written here open to write, should one of them be run here. */
	const scripted: string[][] = [];
	const reads = new Map<string, FileRead>();
	const writes = new Set<string>();
	const listed = new Set<string>();
	for (const pipeline of readShellScript(script)) {
		const moved = changedFolder(pipeline, folder);
		if (moved !== undefined) {
			folder = moved;
			continue;
		}
		const effect = effectOfPipeline(pipeline);
		if (weight[effect.kind] > weight[kind]) kind = effect.kind;
		openFile ??= effect.openFile;
		if (effect.kind === "run") program ??= effect.program;
		scripted.push(pipeline.flatMap(pathsOfWrittenScripts));
		const add = (path: string) => normalisePath(path, folder);
		for (const { path, lines } of effect.reads) {
			const known = add(path);
			if (known === undefined) continue;
			const before = reads.get(known);
			reads.set(known, { path: known, lines: before ? join(before.lines, lines) : lines });
		}
		for (const path of effect.writes) {
			const known = add(path);
			if (known !== undefined) writes.add(known);
		}
		for (const path of effect.folders) {
			const known = add(path);
			if (known !== undefined) listed.add(known);
		}
	}
	for (const path of kind === "run" ? scripted.flat() : []) {
		const known = normalisePath(path, folder);
		if (known !== undefined) writes.add(known);
	}
	const shown = [...reads.values()];
	const [first] = shown;
	const paths = kind === "write" ? [...writes] : [...new Set([...shown.map((read) => read.path), ...listed])];
	return {
		...otherTarget,
		kind,
		paths,
		reads: kind === "read" ? shown : [],
		writes: [...writes],
		...(kind === "read" && shown.length === 1 && typeof first?.lines === "object" ? { range: first.lines } : {}),
		...(folder === undefined ? {} : { folder }),
		...(openFile === undefined ? {} : { openFile }),
		...(kind === "run" && program !== undefined ? { program } : {}),
	};
}

/** The folder that `cd` changes to; `undefined` for any other command. */
function changedFolder([command]: Pipeline, folder: string | undefined): string | undefined {
	if (command?.words[0] !== "cd") return undefined;
	return normalisePath(command.words[1] ?? "~", folder) ?? folder ?? ".";
}

function effectOfPipeline(pipeline: Pipeline): CommandEffect {
	const [first, ...others] = pipeline;
	if (!first) return { kind: "other", reads: [], writes: [], folders: [] };
	let effect = effectOf(first);
	const written = [effect.writes, writtenBeside(first)];
	for (const command of others) {
		effect = narrow(effect, command);
		written.push(effectOf(command).writes, writtenBeside(command));
	}
	const writes = written.flat();
	// What goes into a file is not in the output.
	const last = pipeline.at(-1) as SimpleCommand;
	const isSilent = last.redirections.some((one) => one.kind === "write") && effect.kind !== "run";
	if (isSilent) return { ...effect, kind: writes.length > 0 ? "write" : "other", reads: [], folders: [], writes };
	return { ...effect, writes };
}

/** What a command writes beside its own work: redirections, patches in a heredoc, a script that opens files to write. */
function writtenBeside({ words, redirections }: SimpleCommand): string[] {
	return redirections.flatMap(({ kind, text }) => {
		if (kind === "write" || kind === "write_errors") return text === "/dev/null" ? [] : [text];
		if (kind !== "heredoc") return [];
		if (text.includes("*** Begin Patch") || words[0] === "patch") return patchPaths(text);
		return isInterpreter(words[0]) ? pathsOpenedToWrite(text) : [];
	});
}

/** `cat > fix.py << EOF`: what the script in the heredoc opens to write. */
function pathsOfWrittenScripts({ words, redirections }: SimpleCommand): string[] {
	if (isInterpreter(words[0]) || !redirections.some((one) => one.kind === "write")) return [];
	return redirections.flatMap((one) => (one.kind === "heredoc" ? pathsOpenedToWrite(one.text) : []));
}

function isInterpreter(program: string | undefined): boolean {
	return /^(?:.*\/)?(?:python[\d.]*|node|ruby|perl)$/.test(program ?? "");
}

/** Files that a script opens to write, where their paths stand in it as they are. */
function pathsOpenedToWrite(script: string): string[] {
	const opened = /\bopen\(\s?(['"])([^'"\n]{1,300})\1,\s?['"][wa]/g;
	const written = /\bwriteFile(?:Sync)?\(\s?(['"])([^'"\n]{1,300})\1|\bPath\((['"])([^'"\n]{1,300})\3\)\.write_/g;
	return [
		...Array.from(script.matchAll(opened), (match) => match[2] as string),
		...Array.from(script.matchAll(written), (match) => (match[2] ?? match[4]) as string),
	];
}

function join(a: FileRead["lines"], b: FileRead["lines"]): FileRead["lines"] {
	if (a === "whole" || b === "whole") return "whole";
	if (a === "part" || b === "part") return "part";
	const meets = a.from <= b.to + 1 && b.from <= a.to + 1;
	const joined: LineRange = { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
	return meets ? joined : "part";
}

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

/** The lines that `head`, `tail` or `sed -n` leave of some lines. */
export function cutLines(lines: FileRead["lines"], words: readonly string[]): FileRead["lines"] {
	const name = programName(words[0]);
	const from = typeof lines === "object" ? lines.from : 1;
	const to = typeof lines === "object" ? lines.to : Number.POSITIVE_INFINITY;
	if (lines === "part") return "part";
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
	// The end of a file is not known, that of a range is.
	return Number.isFinite(to) ? { from: Math.max(from, to - count.lines + 1), to } : "part";
}

/** `-n 20`, `-20`, `-n +5`; 10 where nothing is said. */
function lineCount(words: readonly string[]): { lines: number; fromStart: boolean } | undefined {
	const options = words.slice(1);
	if (options.some((word) => /^(?:-c|--bytes)/.test(word))) return undefined;
	for (const [index, word] of options.entries()) {
		const isApart = word === "-n" || word === "--lines";
		const value = isApart ? options[index + 1] : /^(?:-n|--lines=|-)([+-]?\d{1,9})$/.exec(word)?.[1];
		if (value === undefined) continue;
		const found = /^(\+?)(\d{1,9})$/.exec(value);
		return found ? { lines: Number(found[2]), fromStart: found[1] === "+" } : undefined;
	}
	return { lines: 10, fromStart: false };
}

/** The lines that `sed -n '10,20p'` prints. */
export function printedLines(words: readonly string[]) {
	if (!words.some((word) => /^-[a-z]*n[a-z]*$|^--quiet$|^--silent$/.test(word))) return undefined;
	for (const word of words.slice(1)) {
		const found = /^(\d{1,9})(?:,(\d{1,9}|\$))?p$/.exec(word);
		if (!found) continue;
		const from = Number(found[1]);
		const to = found[2] === undefined ? from : found[2] === "$" ? Number.POSITIVE_INFINITY : Number(found[2]);
		return { from, to };
	}
	return undefined;
}

/** A redirection of a command. */
export interface Redirection {
	readonly kind: "write" | "write_errors" | "read" | "heredoc";
	/** The file; of a heredoc, its body. */
	readonly text: string;
}

/** A command with what it is given. */
export interface SimpleCommand {
	/** Program and arguments, without quotes. Variables and substitutions stay as they are. */
	readonly words: readonly string[];
	readonly redirections: readonly Redirection[];
}

/** Commands joined by `|`, the output of each going into the next. */
export type Pipeline = readonly SimpleCommand[];

/** Most commands that are read of a script; what is longer is generated. */
const mostCommands = 2_000;

/**
 * Splits a shell script into pipelines, enough to tell which files it reads and writes: quotes, redirections and heredocs
 * are read; control words (`if`, `for`) and substitutions are left as words. Takes time in proportion to the script.
 */
export function readShellScript(script: string): Pipeline[] {
	const pipelines: Pipeline[] = [];
	let pipeline: SimpleCommand[] = [];
	let words: string[] = [];
	let redirections: Redirection[] = [];
	/** What the next word is for: an argument, or the target of a redirection. */
	let next: Redirection["kind"] | "word" = "word";
	let heredocs: string[] = [];
	/** The number right before a redirection: 2 for the errors. */
	let descriptor = "";
	let position = 0;
	let commands = 0;

	const endCommand = () => {
		if (words.length > 0 || redirections.length > 0) {
			pipeline.push({ words, redirections });
			commands += 1;
		}
		words = [];
		redirections = [];
		next = "word";
	};
	const endPipeline = () => {
		endCommand();
		if (pipeline.length > 0) pipelines.push(pipeline);
		pipeline = [];
	};

	while (position < script.length && commands < mostCommands) {
		const character = script[position] as string;
		if (character === "\n") {
			position += 1;
			const bodies = heredocs.map((delimiter) => {
				const { body, end } = readHeredoc(script, position, delimiter);
				position = end;
				return { kind: "heredoc", text: body } as const;
			});
			heredocs = [];
			// The command that the heredoc belongs to may have ended already: `cat <<EOF && next`.
			if (words.length > 0 || redirections.length > 0) redirections = redirections.concat(bodies);
			else if (bodies.length > 0) {
				if (pipeline.length === 0) pipeline = [...(pipelines.pop() ?? [])];
				const last = pipeline.pop() ?? { words: [], redirections: [] };
				pipeline.push({ ...last, redirections: [...last.redirections, ...bodies] });
			}
			endPipeline();
		} else if (character === " " || character === "\t" || character === "\r") position += 1;
		else if (character === "\\" && script[position + 1] === "\n") position += 2;
		else if (character === "#" && /^[\s;&|]?$/.test(script[position - 1] ?? "")) {
			const end = script.indexOf("\n", position);
			position = end === -1 ? script.length : end;
		} else if (character === ";" || character === "(" || character === ")") {
			position += 1;
			endPipeline();
		} else if (character === "|" || (character === "&" && script[position + 1] !== ">")) {
			const doubled = script[position + 1] === character;
			position += doubled ? 2 : 1;
			if (character === "|" && !doubled) {
				if (script[position] === "&") position += 1;
				endCommand();
			} else endPipeline();
		} else if (character === "<" && script.startsWith("<<", position) && script[position + 2] !== "<") {
			position += script[position + 2] === "-" ? 3 : 2;
			while (script[position] === " ") position += 1;
			const word = readWord(script, position);
			position = Math.max(word.end, position + 1);
			heredocs.push(word.text);
		} else if (character === "<") {
			position += script.startsWith("<<<", position) ? 3 : 1;
			next = "read";
		} else if (character === ">" || (character === "&" && script[position + 1] === ">")) {
			position += character === "&" ? 2 : 1;
			if (script[position] === ">" || script[position] === "|") position += 1;
			if (script[position] === "&") {
				// `2>&1`: to another descriptor, no file.
				position = readWord(script, position + 1).end;
			} else next = descriptor === "2" ? "write_errors" : "write";
			descriptor = "";
		} else {
			const { text, end } = readWord(script, position);
			position = Math.max(end, position + 1);
			if (/^\d$/.test(text) && /[<>]/.test(script[position] ?? "")) {
				descriptor = text;
				continue;
			}
			if (next === "word") words.push(text);
			else redirections.push({ kind: next, text });
			next = "word";
		}
	}
	endPipeline();
	return pipelines;
}

function readHeredoc(script: string, start: number, delimiter: string): { body: string; end: number } {
	let line = start;
	while (line < script.length) {
		const newline = script.indexOf("\n", line);
		const end = newline === -1 ? script.length : newline;
		if (end - line < delimiter.length + 64 && script.slice(line, end).trim() === delimiter) {
			return { body: script.slice(start, line), end };
		}
		line = end + 1;
	}
	return { body: script.slice(start), end: script.length };
}

/** Reads a word, taking off its quotes, up to white space or an operator. */
function readWord(script: string, start: number): { text: string; end: number } {
	const pieces: string[] = [];
	let position = start;
	while (position < script.length) {
		const character = script[position] as string;
		if (character === "'") {
			const end = script.indexOf("'", position + 1);
			const close = end === -1 ? script.length : end;
			pieces.push(script.slice(position + 1, close));
			position = close + 1;
		} else if (character === '"') {
			let end = position + 1;
			while (end < script.length && script[end] !== '"') end += script[end] === "\\" ? 2 : 1;
			pieces.push(script.slice(position + 1, end).replace(/\\(["\\$`])/g, "$1"));
			position = end + 1;
		} else if (character === "\\") {
			pieces.push(script[position + 1] ?? "");
			position += 2;
		} else if (/[\s;&|<>()]/.test(character)) break;
		else {
			const stop = /['"\\\s;&|<>()]/g;
			stop.lastIndex = position;
			const found = stop.exec(script);
			const end = found ? found.index : script.length;
			pieces.push(script.slice(position, end));
			position = end;
		}
	}
	return { text: pieces.join(""), end: Math.min(position, script.length) };
}

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
