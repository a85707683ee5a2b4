import { normalisePath } from "./normalise-path.ts";
import { patchPaths } from "./patch-paths.ts";
import { type CommandEffect, effectOf, narrow } from "./shell-command.ts";
import { type Pipeline, readShellScript, type SimpleCommand } from "./shell-script.ts";
import { type CallTarget, type FileRead, type LineRange, otherTarget, type TargetKind } from "./target.ts";

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
