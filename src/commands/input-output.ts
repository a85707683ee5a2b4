import { isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { compactJson } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import { logLevels } from "../engine/policy/names.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError, withoutControls, withoutCredentials } from "../errors.ts";
import { editedPieces, spellingsOf } from "../formats/json-text/edit.ts";
import { readTextDocument, type TextDocument } from "../formats/json-text/read.ts";
import { namingRescue, salvageRecords } from "../formats/json-text/salvage.ts";
import type { Recording } from "../formats/recording.ts";
import { readChatLog } from "../formats/vscode-chat.ts";
import { ownCommandAnywhere, shellArgument } from "../hosts/own-command.ts";
import type { Log, LogLevel } from "../log.ts";
import { type Config, type ConfigSources, ignoredWarning, loadConfig } from "../operations/config/config.ts";
import type { Outcome } from "../operations/conversation.ts";
import type { MaskRequest } from "../operations/mask.ts";
import type { SummaryProgress } from "../operations/summariser/summariser.ts";
import type { Archive } from "../storage/archive/archive.ts";
import { archiveLocation, nameForPrograms, openArchiveOfPolicy, saveCredentials } from "../storage/archive/open.ts";
import { decodeText, readRegularFile } from "../storage/files/access.ts";
import { unpack } from "../storage/files/packed.ts";

export interface CommonOptions {
	readonly policy?: string;
	/** `key=value`, in order. */
	readonly set?: readonly string[];
}

export interface ArchiveCommandOptions extends CommonOptions {
	readonly archive?: string;
	readonly namespace?: string;
}

export interface EditOptions extends ArchiveCommandOptions {
	readonly respondWith: "messages" | "edits" | "report";
}

/** Numbers are tokens. */
export interface WindowOptions {
	readonly model?: string;
	readonly contextWindow?: number;
	readonly reserveTokens?: number;
}

export interface IdleOptions {
	readonly idleSeconds?: number;
}

export function configSources({ policy: policyFile, set: settings }: CommonOptions): ConfigSources {
	return { policyFile, settings, environment: process.env, workingDirectory: process.cwd() };
}

/** Says what a found policy file sets without effect. */
export async function commandConfig(options: CommonOptions): Promise<Config> {
	const config = await loadConfig(configSources(options));
	const warning = ignoredWarning(config);
	if (warning !== undefined) say(warning);
	return config;
}

/** Edits the text that was read, so that spelling, key order and white space stay. `work` may return nothing to print. */
export async function editConversation<Edited extends Outcome<unknown> | undefined>(
	{ file, options, policy }: { readonly file: string; readonly options: EditOptions; readonly policy: Policy },
	work: (call: MaskRequest) => Promise<Edited>,
): Promise<Edited> {
	let document: TextDocument | undefined = await readDocument(file, policy.limits.max_file_bytes);
	const conversation = document.value;
	const log = logToStderr(() => policy.log_level);
	const outcome = await withArchive(options, policy, (archive) => {
		const given = document as TextDocument;
		if (archive) return work({ conversation, policy, archive, spellingsOf: (paths) => spellingsOf(given, paths), log });
		// Without an archive only `messages` needs the text, and it may be large.
		if (options.respondWith !== "messages") document = undefined;
		return work({ conversation, policy, log });
	});
	if (outcome === undefined) return outcome;
	if (outcome.error) throw outcome.error;
	const { edits, report } = outcome;
	if (document && options.respondWith === "messages") await writePieces(editedPieces(document, edits));
	else printJson(options.respondWith === "edits" ? { edits, report } : report, 2);
	return outcome;
}

/** A conversation that was read, with the spellings that an archive needs to restore it to the byte. */
export function sourceOf(document: TextDocument, archive: Archive | undefined) {
	const spellings = { spellingsOf: (paths: readonly Path[]) => spellingsOf(document, paths) };
	return { conversation: document.value, ...(archive ? { archive, ...spellings } : {}) };
}

/** Each write is a system call. */
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

/** `archive` is `undefined` for `none`. */
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

/** Throws PalimpsestError `invalid_argument` for `none`. */
export function withOwnArchive<T>(
	options: ArchiveCommandOptions,
	policy: Policy,
	work: (archive: Archive) => Promise<T>,
): Promise<T> {
	return withArchive(options, policy, async (archive) => {
		if (archive) return work(archive);
		const message = "Expected an archive to read from; got none, which keeps nothing. Name one with --archive.";
		throw new PalimpsestError("invalid_argument", message);
	});
}

/** For a program that we start, so that `palimpsest recall` in it reads the same archive, from any folder. */
export function archiveVariables(options: ArchiveCommandOptions): Record<string, string> {
	const name = nameForPrograms(archiveLocation({ ...options, environment: process.env }));
	const own = process.env.PALIMPSEST_ARCHIVE || "files";
	return {
		...(name === own ? {} : { PALIMPSEST_ARCHIVE: name }),
		...(options.namespace === undefined ? {} : { PALIMPSEST_NAMESPACE: options.namespace }),
	};
}

/** `palimpsest recall` for an agent's shell, which may run in another folder, without our options. Models read it. */
export function recallCommandOf({ archive, namespace }: ArchiveCommandOptions): string {
	const named = [
		...(archive === undefined ? [] : ["--archive", nameForPrograms({ where: archive })]),
		...(namespace ? ["--namespace", namespace] : []),
	];
	return [ownCommandAnywhere(), "recall", ...named.map(shellArgument)].join(" ");
}

/** For the programs that get the name of the archive. Where it cannot be saved, the command goes on. */
export async function saveAddressOf(options: ArchiveCommandOptions): Promise<void> {
	try {
		await saveCredentials(archiveLocation({ ...options, environment: process.env }));
	} catch (error) {
		if (!(error instanceof PalimpsestError) || error.code !== "archive_unavailable") throw error;
		say(`[${error.code}] ${error.message} \`palimpsest recall\` in a shell will not find the archive.`);
	}
}

const readAtOnce = 8 * 1024 * 1024;

/** A file, or standard input for `-`, of any size. Throws PalimpsestError `unreadable_file`. */
export async function* outputPieces(file: string): AsyncGenerator<Buffer> {
	if (file === "-") {
		for await (const piece of process.stdin) yield piece;
		return;
	}
	const about = await stat(file).catch(() => undefined);
	// `readInput` has the error for a file that cannot be read.
	if (about?.isFile() && about.size > readAtOnce) for await (const piece of createReadStream(file)) yield piece;
	else yield await readInput(file, readAtOnce);
}

const largeInput = 16_000_000;

/** JSON or the records of a session. Throws PalimpsestError `invalid_json`, `read_only`, and as `readInput` does. */
export async function readDocument(file: string, maxBytes: number): Promise<TextDocument> {
	return editable(await readDocumentOrRecording(file, maxBytes), file);
}

function editable(read: TextDocument | Recording, file: string): TextDocument {
	if ("roots" in read) return read;
	const message = `${inputName(file)} is a recording (${read.kind}): count, report and replay can read it, but none of it can be edited. To edit its conversation, save it as a JSON file: a request body, or an export of the program.`;
	throw new PalimpsestError("read_only", message);
}

/**
 * The records of a session without its damaged ones, for commands that do not change the file. Says how many it skips. Throws
 * PalimpsestError as `readDocument` does.
 */
export async function readSessionDocument(file: string, maxBytes: number): Promise<TextDocument> {
	return editable(await readSalvaged(file, maxBytes), file);
}

/** A conversation that is only read, also from a recording. Throws PalimpsestError `invalid_json`, and as `readInput` does. */
export async function readConversationFile(file: string, maxBytes: number): Promise<unknown> {
	const read = await readSalvaged(file, maxBytes);
	return "roots" in read ? read.value : read.conversation;
}

async function readSalvaged(file: string, maxBytes: number): Promise<TextDocument | Recording> {
	const bytes = await readSession(file, maxBytes);
	// Decoding a text empties its bytes.
	const text = isUtf8(bytes) ? decodeInput(bytes, file) : withoutOtherBytes(bytes);
	try {
		return await documentOrRecording(text, file);
	} catch (error) {
		const salvaged = salvage(text, file);
		if (!salvaged) throw error;
		return readTextDocument(salvaged, inputName(file));
	}
}

/** The text of the whole records of a damaged session; says how many it skips. `undefined` for any other file. */
export function salvage(session: string, file: string): string | undefined {
	const salvaged = salvageRecords(session);
	if (!salvaged) return undefined;
	const { text, skipped } = salvaged;
	say(`skipped ${skipped} damaged ${skipped === 1 ? "record" : "records"} of ${shownName(inputName(file))}`);
	return text;
}

/** A line that is not UTF-8 is damaged: a file may be cut inside a character. */
function withoutOtherBytes(bytes: Buffer): string {
	const lines: string[] = [];
	for (let start = 0; start <= bytes.length; ) {
		const newline = bytes.indexOf(0x0a, start);
		const end = newline === -1 ? bytes.length : newline;
		const line = bytes.subarray(start, end);
		lines.push(isUtf8(line) ? line.toString("utf8") : "\0");
		start = end + 1;
	}
	return lines.join("\n");
}

async function readDocumentOrRecording(file: string, maxBytes: number): Promise<TextDocument | Recording> {
	return documentOrRecording(decodeInput(await readSession(file, maxBytes), file), file);
}

function decodeInput(bytes: Buffer, file: string): string {
	if (bytes.length > largeInput) {
		// A command ends with its answer. Without these, it would hold many times the size of its input until then.
		setFlagsFromString("--heap-growing-percent=10");
		setFlagsFromString("--max-semi-space-size=4");
	}
	return decodeText(bytes, inputName(file));
}

async function documentOrRecording(text: string, file: string): Promise<TextDocument | Recording> {
	const name = inputName(file);
	try {
		const document = readTextDocument(text, name);
		const conversation = readChatLog(document.value);
		return conversation ? { kind: "VS Code chat log", conversation } : document;
	} catch (error) {
		const { readRecording } = await import("../formats/recording.ts");
		const recording = readRecording(text);
		if (!recording) throw namingRescue(error, text);
		return recording;
	}
}

export function inputName(file: string): string {
	return file === "-" ? "standard input" : file;
}

/** As `readInput`, without the packing of a session. */
export async function readSession(file: string, maxBytes: number): Promise<Buffer> {
	return unpack(await readInput(file, maxBytes), { name: inputName(file), mostBytes: maxBytes });
}

/** A file, or standard input for `-`. Throws PalimpsestError `unreadable_file`, `payload_too_large`. */
export async function readInput(file: string, maxBytes: number): Promise<Buffer> {
	if (file !== "-") return readRegularFile(file, maxBytes);
	const chunks: Buffer[] = [];
	let length = 0;
	for await (const chunk of process.stdin) {
		length += chunk.length;
		if (length > maxBytes) {
			const message = `Standard input has more than ${maxBytes} bytes, the most that limits.max_file_bytes in the policy allows.`;
			throw new PalimpsestError("payload_too_large", message);
		}
		chunks.push(chunk);
	}
	return Buffer.concat(chunks);
}

export function sayProgress(progress: SummaryProgress): void {
	if (progress.kind === "retry") {
		const { attempt, max_retries, delay, code } = progress;
		say(`retry ${attempt} of ${max_retries} in ${delay} s (${code})`);
	} else if (progress.phase !== "waiting") say(progress.phase.replaceAll("_", " "));
}

/** Prints JSON, without indentation if the value is nested too deeply. Escapes control characters that a terminal would act on. */
export function printJson(value: unknown, indent?: number): void {
	let json: string;
	try {
		json = JSON.stringify(value, null, indent);
	} catch (error) {
		if (!(error instanceof RangeError)) throw error;
		json = compactJson(value);
	}
	const escaped = json.replace(
		/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
		(character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
	);
	process.stdout.write(`${escaped}\n`);
}

/** A line for people, on standard error. */
export function say(line: string): void {
	complain(`palimpsest: ${onOneLine(line)}`);
}

/** Lines for people on standard error, without control characters. */
export function complain(lines: string): void {
	process.stderr.write(`${withoutCredentials(withoutControls(lines))}\n`);
}

/** Lines for people on standard output, without control characters. */
export function show(lines: string): void {
	process.stdout.write(withoutControls(lines));
}

export function shownName(name: string): string {
	return withoutControls(name.replace(/[\n\t]/g, "?"));
}

export function logToStderr(level: () => LogLevel): Log {
	return (event) => {
		if (logLevels.indexOf(event.level) < logLevels.indexOf(level())) return;
		complain(`palimpsest ${event.level}: ${onOneLine(event.message)}`);
	};
}

function onOneLine(message: string): string {
	return message
		.replace(/:\n- /g, ": ")
		.replace(/\n- /g, "; ")
		.replace(/([^.])\n(?=[A-Z])/g, "$1. ")
		.replace(/\s*\n\s*/g, " ");
}

/** Waits while the reader is slower, so that output does not pile up in memory. */
export async function writeOut(piece: string | Uint8Array): Promise<void> {
	if (process.stdout.write(piece)) return;
	await new Promise<void>((resolve) => process.stdout.once("drain", resolve));
}
