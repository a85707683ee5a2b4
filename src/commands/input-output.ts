import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import path from "node:path";
import { setFlagsFromString } from "node:v8";
import { structuredPatch } from "diff";
import type { Archive } from "../archive/archive.ts";
import { openArchiveOfPolicy } from "../archive/open.ts";
import { archiveLocation } from "../config/archive.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { compactJson } from "../conversation/json.ts";
import { PalimpsestError, withoutControls } from "../errors.ts";
import { decodeText, readRegularFile } from "../files/access.ts";
import { shellArgument } from "../hosts/hooks.ts";
import { carryOutChange, type FileChange } from "../hosts/settings-file.ts";
import { editedPieces } from "../json-text/edit.ts";
import { readTextDocument, type TextDocument } from "../json-text/read.ts";
import type { Outcome } from "../operations/conversation.ts";
import type { Log } from "../operations/edit-record.ts";
import { type LogLevel, logLevels } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { SummaryProgress } from "../summariser/summariser.ts";

/** What a command that edits a conversation prints. */
export type RespondWith = "messages" | "edits" | "report";

/**
 * Prints an outcome; one that would have broken a promise becomes its error, and nothing is printed. Edits are applied to
 * the text that was read, so that all else stays byte for byte: number spelling, key order, escapes and white space.
 */
export async function printOutcome(
	document: TextDocument,
	outcome: Outcome<unknown>,
	respondWith: RespondWith,
): Promise<void> {
	const { edits, report, error } = outcome;
	if (error) throw error;
	if (respondWith === "messages") await writePieces(editedPieces(document, edits));
	else if (respondWith === "edits") printJson({ edits, report }, 2);
	else printJson(report, 2);
}

/** Characters that are gathered before they are written: each write is a call of the system. */
const writtenAtOnce = 1 << 16;

async function writePieces(pieces: Iterable<string>): Promise<void> {
	let waiting = "";
	for (const piece of pieces) {
		waiting += piece;
		if (waiting.length < writtenAtOnce) continue;
		await writeOut(waiting);
		waiting = "";
	}
	await writeOut(waiting);
}

/** Bytes of a file that is read at once. */
const readAtOnce = 8 * 1024 * 1024;

/**
 * The bytes of a file, or of standard input where the name is `-`, piece by piece, whatever their number.
 *
 * @throws PalimpsestError `unreadable_file`.
 */
export async function* outputPieces(file: string): AsyncGenerator<Buffer> {
	if (file === "-") {
		for await (const piece of process.stdin) yield piece;
		return;
	}
	const about = await stat(file).catch(() => undefined);
	// What cannot be read says so there.
	if (about?.isFile() && about.size > readAtOnce) for await (const piece of createReadStream(file)) yield piece;
	else yield await readInput(file, readAtOnce);
}

/** How this program is called from elsewhere: by name where the shell finds it, else by its place. */
export function ownCommand(): readonly string[] {
	const folders = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");
	const names = process.platform === "win32" ? ["palimpsest.cmd"] : ["palimpsest"];
	// A folder that npx makes for one run is gone afterwards.
	const isThere = folders.some(
		(folder) => !folder.includes("_npx") && names.some((name) => existsSync(path.join(folder, name))),
	);
	return isThere ? ["palimpsest"] : [process.execPath, path.resolve(process.argv[1] ?? "")];
}

/** The same as a shell takes it: for who reads a notice and wants the whole. */
export function ownCommandLine(): string {
	return ownCommand().map(shellArgument).join(" ");
}

/**
 * Reads a JSON document, or the records of a recorded session, from a file or, for `-`, from standard input.
 *
 * @throws PalimpsestError `unreadable_file`, `payload_too_large`, `invalid_json`.
 */
export async function readDocument(file: string, maxBytes: number): Promise<TextDocument> {
	const name = file === "-" ? "standard input" : file;
	const bytes = await readInput(file, maxBytes);
	if (bytes.length > largeInput) collectOften();
	return readTextDocument(decodeText(bytes, name), name);
}

const largeInput = 16_000_000;

/**
 * Has memory collected before it has doubled, as it would by default: a command that ends with its answer would else hold
 * what it threw away for most of its life, many times the size of its input.
 */
function collectOften(): void {
	setFlagsFromString("--heap-growing-percent=10");
	setFlagsFromString("--max-semi-space-size=4");
}

/**
 * Reads a file, or standard input where the name is `-`.
 *
 * @throws PalimpsestError `unreadable_file`; `payload_too_large` past `maxBytes`.
 */
export function readInput(file: string, maxBytes: number): Promise<Buffer> {
	return file === "-" ? readStandardInput(maxBytes) : readRegularFile(file, maxBytes);
}

/** The text of an output, whatever its bytes are: those that are no UTF-8 become U+FFFD. */
export function textOf(bytes: Buffer): string {
	return bytes.toString("utf8");
}

async function readStandardInput(maxBytes: number): Promise<Buffer> {
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of process.stdin) {
		length += chunk.length;
		if (length > maxBytes) {
			throw new PalimpsestError(
				"payload_too_large",
				`Standard input has over ${maxBytes} bytes, which is all that limits.max_file_bytes in the policy allows.`,
			);
		}
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

/** Tells the steps and retries of a model call on standard error. */
export function sayProgress(progress: SummaryProgress): void {
	if (progress.kind === "retry") {
		const { attempt, max_retries, delay, code } = progress;
		say(`retry ${attempt} of ${max_retries} in ${delay} s (${code})`);
	} else if (progress.phase !== "waiting") say(progress.phase.replaceAll("_", " "));
}

/**
 * Prints what changes in a user's file, then changes it, unless that is a dry run. Answers with whether anything changed
 * or would.
 */
export async function showChange(what: {
	readonly file: string;
	readonly change: FileChange;
	readonly dryRun: boolean | undefined;
	/** What is said afterwards, such as "installed". */
	readonly done: string;
}): Promise<boolean> {
	const { file, change, dryRun, done } = what;
	const { before, after } = change;
	if (before === after) {
		say(`${file}: nothing to change`);
		return false;
	}
	show(`${shownName(file)}\n${lineDifference(before ?? "", after ?? "")}`);
	if (dryRun) {
		say("nothing was written (--dry-run)");
		return true;
	}
	const backup = await carryOutChange(file, change);
	say(`${done}${backup === undefined ? "" : `; what the file was: ${backup}`}`);
	return true;
}

/** The lines that change, with `-` and `+` before them and up to three lines around. */
function lineDifference(before: string, after: string): string {
	// A missing line break at the end of the file, or one of Windows, is no change that a reader cares about.
	const [old, changed] = [before, after].map((text) => text.replace(/(?<!\n)$/, "\n").replace(/^\n$/, ""));
	const { hunks } = structuredPatch("", "", old ?? "", changed ?? "", "", "", { context: 3, stripTrailingCr: true });
	return hunks.map(({ lines }) => lines.map((line) => `${line[0]} ${line.slice(1)}\n`).join("")).join("  …\n");
}

/** Does something with the archive that a command names, none where nothing is to be kept, and closes it. */
export async function withArchive<T>(
	options: ArchiveCommandOptions,
	policy: Policy,
	work: (archive: Archive | undefined) => Promise<T>,
): Promise<T> {
	const archive = await openArchiveOfPolicy(archiveLocation({ ...options, environment: process.env }), policy);
	try {
		return await work(archive);
	} finally {
		await archive?.close();
	}
}

/**
 * The same for a command that is about the archive itself.
 *
 * @throws PalimpsestError `invalid_argument` where nothing is kept.
 */
export function withOwnArchive<T>(
	options: ArchiveCommandOptions,
	policy: Policy,
	work: (archive: Archive) => Promise<T>,
): Promise<T> {
	return withArchive(options, policy, async (archive) => {
		if (archive) return work(archive);
		throw new PalimpsestError(
			"invalid_argument",
			"Expected an archive to read; none keeps nothing. Name it by --archive.",
		);
	});
}

/** The options that every command takes. */
export interface CommonOptions {
	/** Path of the policy file. */
	readonly policy?: string;
	/** `key=value` settings, in order. */
	readonly set?: readonly string[];
}

/** The options of every command that keeps originals or reads them. */
export interface ArchiveCommandOptions {
	/** `files`, `memory`, `none`, `redis://…` or a folder. */
	readonly archive?: string;
	readonly namespace?: string;
}

/** Where a configuration is looked for when run as a command. */
export function configSources(options: CommonOptions) {
	return {
		policyFile: options.policy,
		settings: options.set ?? [],
		environment: process.env,
		workingDirectory: process.cwd(),
	};
}

/** The configuration of a command. */
export function configOf(options: CommonOptions): Promise<Config> {
	return loadConfig(configSources(options));
}

/** Writes JSON for programs on standard output. `indent` as `JSON.stringify` takes it. */
export function printJson(value: unknown, indent?: string | number): void {
	process.stdout.write(`${asJson(value, indent)}\n`);
}

/**
 * Writes JSON, without indentation if it is nested too deep for that. Escapes control characters that JSON allows and that
 * a terminal would act on.
 */
function asJson(value: unknown, indent: string | number | undefined): string {
	return indented(value, indent).replace(
		/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
}

function indented(value: unknown, indent: string | number | undefined): string {
	try {
		return JSON.stringify(value, null, indent);
	} catch (error) {
		if (error instanceof RangeError) return compactJson(value);
		throw error;
	}
}

/** Writes a line for people on standard error, since standard output belongs to the answer. */
export function say(line: string): void {
	complain(`palimpsest: ${onOneLine(line)}`);
}

/** Writes lines for people on standard error as they stand. What comes from outside can do nothing to the terminal. */
export function complain(lines: string): void {
	process.stderr.write(`${withoutControls(lines)}\n`);
}

/** Writes lines for people on standard output; see `complain`. */
export function show(lines: string): void {
	process.stdout.write(withoutControls(lines));
}

/** A name, such as a file's, that is to stand on one line of a table. */
export function shownName(name: string): string {
	return withoutControls(name.replace(/[\n\t]/g, "?"));
}

/** A log on standard error, from a level on. */
export function logToStderr(level: () => LogLevel): Log {
	return (event) => {
		if (logLevels.indexOf(event.level) < logLevels.indexOf(level())) return;
		complain(`palimpsest ${event.level}: ${onOneLine(event.message)}`);
	};
}

/** A message that lists things on lines of their own, as one line. */
function onOneLine(message: string): string {
	return message
		.replace(/:\n- /g, ": ")
		.replace(/\n- /g, "; ")
		.replace(/([^.])\n(?=[A-Z])/g, "$1. ")
		.replace(/\s*\n\s*/g, " ");
}

/** Writes to standard output and waits while its reader is slower, so that nothing piles up in memory. */
export async function writeOut(piece: string | Uint8Array): Promise<void> {
	if (process.stdout.write(piece)) return;
	await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}
