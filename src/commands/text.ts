import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough, type Readable } from "node:stream";
import type { Policy, TruncatePolicy } from "../engine/policy/schema.ts";
import type { EncodingName } from "../formats/tokens/encodings.ts";
import { ownCommandLine } from "../hosts/own-command.ts";
import { countingWords, countText } from "../operations/count.ts";
import { endingNotice, longestShortNotice, type RunEnding, shortenStream } from "../operations/truncate-stream.ts";
import {
	cutOfCall,
	type ExcerptLimit,
	limitCheck,
	limitTooSmall,
	nameOfLimit,
} from "../operations/truncation-limit.ts";
import { unpackedName } from "../storage/files/packed.ts";
import { decodeOutput } from "../storage/files/text-encoding.ts";
import {
	type ArchiveCommandOptions,
	archiveVariables,
	type CommonOptions,
	commandConfig,
	logToStderr,
	outputPieces,
	printJson,
	readSession,
	salvage,
	saveAddressOf,
	say,
	withArchive,
} from "./input-output.ts";
import { exitCodeOfEnd, passSignals, startOf } from "./processes.ts";

interface LimitOptions {
	readonly maxChars?: number;
	readonly maxTokens?: number;
}

/** `palimpsest truncate FILE` */
export async function truncate(
	file: string,
	options: ArchiveCommandOptions &
		LimitOptions & { readonly strategy?: TruncatePolicy["strategy"]; readonly focus?: string },
): Promise<void> {
	const { policy } = await commandConfig(options);
	const cut = cutOfCall(policy, options);
	const shortened = await withArchive(options, policy, (archive) =>
		shortenStream({
			...cut,
			pieces: outputPieces(file),
			policy,
			focus: options.focus,
			archive,
			command: ownCommandLine(),
			log: logToStderr(() => policy.log_level),
			limitName: nameOfLimit(cut.limit, options),
		}),
	);
	if (shortened.kind === "whole") {
		process.stdout.write(shortened.bytes);
		return;
	}
	const { text, failure } = shortened;
	if (failure !== undefined && policy.on_archive_failure === "refuse") {
		// A file can be read again; a pipe cannot, so that its excerpt is better than nothing.
		if (file !== "-") throw failure;
		say(`[${failure.code}] ${failure.message} Shown without a reference.`);
		process.exitCode = 1;
	}
	process.stdout.write(text);
}

/** `palimpsest count FILE` */
export async function count(
	file: string,
	options: CommonOptions & { readonly model?: string; readonly encoding?: EncodingName; readonly json?: boolean },
): Promise<void> {
	const { policy } = await commandConfig(options);
	const bytes = await readSession(file, policy.limits.max_file_bytes);
	const whole = decodeOutput(bytes);
	const text = (/\.jsonl$/i.test(unpackedName(file)) ? salvage(whole, file) : undefined) ?? whole;
	const { model, encoding } = options;
	const counted = await countText({ text, policy, model, encoding });
	if (options.json) return printJson(counted);
	process.stdout.write(`${counted.tokens}\n`);
	if (counted.method !== "exact") say(`${countingWords(counted)}; ${counted.low} to ${counted.high} tokens`);
}

const usualTokens = 4_000;

/** `palimpsest run -- COMMAND`; the exit code is the command's own. */
export async function run(
	command: string,
	parameters: readonly string[],
	options: ArchiveCommandOptions & LimitOptions,
): Promise<void> {
	const { policy } = await commandConfig(options);
	const { maxChars, maxTokens = usualTokens } = options;
	const limit: ExcerptLimit =
		maxChars === undefined ? { kind: "tokens", most: maxTokens } : { kind: "chars", most: maxChars };
	await requireRoomForNotice(limit, policy);
	await saveAddressOf(options);
	await withArchive(options, policy, async (archive) => {
		const started = await startCommand(command, parameters, { ...process.env, ...archiveVariables(options) });
		if (started.kind === "not_started") {
			say(`cannot run ${command}: ${started.reason}`);
			process.exitCode = started.exitCode;
			return;
		}
		const { output, ending } = started;
		const shortened = await shortenStream({
			pieces: output,
			policy,
			limit,
			archive,
			ending: () => ending,
			command: ownCommandLine(),
			letThrough: true,
		});
		const ended = await ending;
		const { kind, failure } = shortened;
		process.stdout.write(kind === "whole" ? shortened.bytes : shortened.text);
		const shown = kind === "whole" ? "Shown whole." : "Shown without a reference.";
		if (failure !== undefined) say(`[${failure.code}] ${failure.message} ${shown}`);
		if (kind === "whole" && ended.exitCode !== 0) say(endingNotice(policy.locale, ended));
		process.exitCode = ended.exitCode;
	});
}

/** Refuses a limit that is too small before the command runs: its output cannot be produced a second time. */
async function requireRoomForNotice(limit: ExcerptLimit, policy: Policy): Promise<void> {
	const notice = longestShortNotice(policy.locale);
	// No token is shorter than a byte, so that most limits need no tokenizer.
	if (limit.most >= Buffer.byteLength(notice)) return;
	const least = (await limitCheck(limit, policy)).sizeOf(notice);
	if (limit.most < least) throw limitTooSmall({ name: `max_${limit.kind}`, given: limit.most, least });
}

const patienceMs = 2_000;

/** No shell. The command has our standard input and gets our signals. Without a start, exit codes are those of shells. */
async function startCommand(command: string, parameters: readonly string[], env: NodeJS.ProcessEnv) {
	const merged = await openMergedOutput();
	const output = merged?.writable ?? "pipe";
	const startedAt = performance.now();
	const child = spawn(command, parameters, { stdio: ["inherit", output, output], env, windowsHide: true });
	const source: Readable = merged?.readable ?? mergeRoughly([child.stdout, child.stderr]);

	const keepSignals = passSignals(child);
	const ending = new Promise<RunEnding>((resolve) => {
		child.on("exit", (code, signal) => {
			keepSignals();
			const durationMs = performance.now() - startedAt;
			resolve({ exitCode: exitCodeOfEnd(code, signal), durationMs, ...(signal === null ? {} : { signal }) });
			// A process that it left behind may keep the output open.
			setTimeout(() => source.destroy(), patienceMs).unref();
		});
	});
	const started = await startOf(child);
	merged?.writable.destroy();
	if (started.kind === "not_started") {
		source.destroy();
		keepSignals();
		return started;
	}
	return { kind: "running", output: untilItEnds(source), ending } as const;
}

async function* untilItEnds(source: Readable): AsyncGenerator<Buffer> {
	try {
		for await (const piece of source) yield piece;
	} catch (error) {
		// We ended it, or a killed process reset it: the output until then counts.
		const { code } = error as NodeJS.ErrnoException;
		if (code !== "ERR_STREAM_PREMATURE_CLOSE" && code !== "ECONNRESET") throw error;
	}
}

/** Merges outputs as they arrive, which need not be the order in which they were written. */
function mergeRoughly(sources: readonly (Readable | null)[]): Readable {
	const merged = new PassThrough();
	const open = sources.filter((source) => source !== null);
	void Promise.all(open.map((source) => once(source, "end"))).then(() => merged.end());
	for (const source of open) source.pipe(merged, { end: false });
	return merged;
}

/** A process that writes both outputs to `writable` has them come out of `readable` in order, as in a terminal. */
async function openMergedOutput(): Promise<{ readonly writable: Socket; readonly readable: Socket } | undefined> {
	// On Windows, a process cannot have a socket for an output.
	if (process.platform === "win32") return undefined;
	const address = path.join(tmpdir(), `.palimpsest-${randomUUID().slice(0, 8)}.sock`);
	const server = createServer();
	try {
		await once(server.listen(address), "listening");
		const accepted = once(server, "connection");
		const writable = connect(address);
		await once(writable, "connect");
		// The reader notices the end of the output.
		writable.on("error", () => {});
		const [readable] = (await accepted) as [Socket];
		return { writable, readable };
	} catch {
		return undefined;
	} finally {
		server.close();
		await rm(address, { force: true }).catch(() => {});
	}
}
