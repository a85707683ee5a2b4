import { appendFileSync, mkdirSync } from "node:fs";
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError } from "../../errors.ts";
import { fileProblem } from "../files/access.ts";
import { undefinedIfAbsent } from "../files/disk.ts";
import { stateFolder } from "../files/state-folder.ts";
import { dayFileName, isDayFile } from "./day-file.ts";
import {
	type Figure,
	type FigureLine,
	folderName,
	programName,
	projectName,
	projectOfCaller,
	readLine,
	writeLine,
} from "./line.ts";

export type Figures = ReturnType<typeof openFigures>;

/** Deletes older days. */
const mostDays = 400;
const mostBytes = 50_000_000;

const day = 24 * 3_600_000;

export function figuresFolder(): string {
	return path.join(stateFolder(), "figures");
}

/**
 * Opens the figures of this machine for one program in one folder. Nothing that goes wrong with a figure reaches the caller:
 * it is lost, and the request goes on.
 */
export function openFigures({
	keep,
	person,
	program,
	projectFolder,
	folder = figuresFolder(),
	write,
	now = Date.now,
}: {
	readonly keep: "all" | "private" | "none";
	/** The caller of a proxy that has several. */
	readonly person?: string | undefined;
	readonly program?: string | undefined;
	readonly projectFolder?: string | undefined;
	readonly folder?: string;
	/** Takes a line of a time in place of the files of this machine. */
	readonly write?: ((at: number, line: string) => void) | undefined;
	readonly now?: () => number;
}) {
	const project =
		projectFolder === undefined ? undefined : projectName(projectFolder, { isPrivate: keep === "private" });
	let sweptDay: string | undefined;
	const sweepOnce = (today: string): void => {
		if (sweptDay === today) return;
		sweptDay = today;
		void sweep(folder, now()).catch(() => {});
	};
	return {
		program,
		/** The last name of the folder; absent unless all is kept. */
		folder: keep === "all" && projectFolder !== undefined ? folderName(projectFolder) : undefined,
		/** Writes a line at once, so that a process that is killed loses none. `by` has what only the request tells. */
		add(
			figure: Figure,
			by: { readonly program?: string | undefined; readonly project?: string | undefined } = {},
		): void {
			if (keep === "none") return;
			const at = now();
			const named = by.project === undefined ? project : projectOfCaller(by.project, { isPrivate: keep === "private" });
			const origin = { at, person, program: programName(program ?? by.program), project: named };
			const text = writeLine({ ...origin, ...figure } as FigureLine);
			const today = dayFileName(at);
			if (!write) sweepOnce(today);
			try {
				if (write) write(at, text);
				else append(path.join(folder, today), `\n${text}`);
			} catch {
				// The disk is full or read-only.
			}
		},
	};
}

/**
 * The lines of a period, the oldest day first. Lines that a crash cut off are left out, and `onLeftOut` is called for each. Throws
 * PalimpsestError `unreadable_file`.
 */
export async function* readFigures({
	since,
	until = Number.POSITIVE_INFINITY,
	folder = figuresFolder(),
	onLeftOut,
}: {
	/** In ms since 1970. */
	readonly since: number;
	/** A clock that was wrong has left lines of later days. */
	readonly until?: number;
	readonly folder?: string;
	readonly onLeftOut?: () => void;
}): AsyncGenerator<FigureLine> {
	const first = dayFileName(Math.max(0, since));
	for (const name of await dayFiles(folder).catch(refuseUnreadable(folder))) {
		if (dayOf(name) < dayOf(first)) continue;
		const file = path.join(folder, name);
		const text = await readFile(file, "utf8").catch(undefinedIfAbsent).catch(refuseUnreadable(file));
		for (const one of (text ?? "").split("\n")) {
			const line = one === "" ? undefined : readLine(one);
			if (one !== "" && !line) onLeftOut?.();
			if (line && line.at >= since && line.at <= until) yield line;
		}
	}
}

/** When a writer with files of its own, as the mod inside Claude Code, last wrote, in ms since 1970; `undefined` if none has. */
export async function lastOfWriters(folder = figuresFolder()): Promise<number | undefined> {
	const names = (await dayFiles(folder).catch(() => [])).filter((name) => name !== `${dayOf(name)}.jsonl`);
	const times = await Promise.all(names.slice(-mostLooked).map((name) => stat(path.join(folder, name))));
	return times.length === 0 ? undefined : Math.max(...times.map(({ mtimeMs }) => mtimeMs));
}

/** Of a day with many sessions. */
const mostLooked = 200;

function refuseUnreadable(name: string): (cause: NodeJS.ErrnoException) => never {
	return (cause) => {
		const message = `Cannot read figures in ${name}: ${fileProblem(cause)}.`;
		throw new PalimpsestError("unreadable_file", message, { cause });
	};
}

/** Each line begins with its line break: one that was cut off does not take the next with it. */
function append(file: string, text: string): void {
	try {
		appendFileSync(file, text, { mode: 0o600 });
	} catch (error) {
		undefinedIfAbsent(error);
		mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
		appendFileSync(file, text, { mode: 0o600 });
	}
}

async function sweep(folder: string, time: number): Promise<void> {
	const oldest = dayFileName(time - mostDays * day);
	let bytes = 0;
	for (const [index, name] of (await dayFiles(folder)).reverse().entries()) {
		const file = path.join(folder, name);
		bytes += (await stat(file)).size;
		// The latest day stays, however large.
		if (index > 0 && (dayOf(name) < dayOf(oldest) || bytes > mostBytes)) await unlink(file);
	}
}

async function dayFiles(folder: string): Promise<string[]> {
	const names = (await readdir(folder).catch(undefinedIfAbsent)) ?? [];
	return names.filter(isDayFile).sort();
}

const dayOf = (name: string) => name.slice(0, "2026-11-28".length);
