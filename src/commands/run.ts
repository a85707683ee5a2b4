import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { constants, tmpdir } from "node:os";
import path from "node:path";
import { performance } from "node:perf_hooks";
import { PassThrough, type Readable } from "node:stream";
import { endingNotice, longestShortNotice, type RunEnding } from "../operations/shorten-held.ts";
import { type ShortenedOutput, shortenStream } from "../operations/truncate-stream.ts";
import { type ExcerptLimit, limitCheck, limitTooSmall } from "../operations/truncation-limit.ts";
import type { Policy } from "../policy/schema.ts";
import {
	type ArchiveCommandOptions,
	type CommonOptions,
	configOf,
	ownCommandLine,
	say,
	withArchive,
} from "./input-output.ts";
import type { LimitOptions } from "./truncate.ts";

/** Tokens of an output that is shown whole, where no limit is given. */
const usualTokens = 4_000;

/**
 * `palimpsest run -- COMMAND`: runs a command and prints its output, both kinds in order, within the limit; the exit code
 * is the command's own.
 */
export async function run(
	command: string,
	parameters: readonly string[],
	options: CommonOptions & ArchiveCommandOptions & LimitOptions,
): Promise<void> {
	const { policy } = await configOf(options);
	const { maxChars, maxTokens = usualTokens } = options;
	const limit =
		maxChars === undefined
			? ({ kind: "tokens", most: maxTokens } as const)
			: ({ kind: "chars", most: maxChars } as const);
	await requireRoomForNotice(limit, policy);
	await withArchive(options, policy, async (archive) => {
		const started = await startCommand(command, parameters);
		if ("reason" in started) {
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
		print(shortened);
		if (shortened.kind === "whole" && ended.exitCode !== 0) say(endingNotice(policy.locale, ended));
		process.exitCode = ended.exitCode;
	});
}

/** Refuses a limit that is too small before the command runs: what it puts out cannot be had a second time. */
async function requireRoomForNotice(limit: ExcerptLimit, policy: Policy): Promise<void> {
	const notice = longestShortNotice(policy.locale);
	// No token is shorter than a byte, so that most limits need no tokenizer.
	if (limit.most >= Buffer.byteLength(notice)) return;
	const least = (await limitCheck(limit, policy)).sizeOf(notice);
	if (limit.most < least) throw limitTooSmall({ name: `max_${limit.kind}`, given: limit.most, least });
}

function print(shortened: ShortenedOutput): void {
	process.stdout.write(shortened.kind === "whole" ? shortened.bytes : shortened.text);
	const { kind, failure } = shortened;
	if (failure === undefined) return;
	say(`[${failure.code}] ${failure.message} ${kind === "whole" ? "Shown whole." : "Shown without a reference."}`);
}

/** A command that runs. */
export interface RunningCommand {
	/** Both of its outputs, in order. */
	readonly output: AsyncIterable<Buffer>;
	/** How it ended; never before all of its output has come. */
	readonly ending: Promise<RunEnding>;
}

/** A command that could not be started. */
export interface NotStarted {
	/** As shells tell it: 127 where there is no such command, 126 where it cannot be run. */
	readonly exitCode: number;
	readonly reason: string;
}

const passedOn = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** How long output is waited for that a process left behind may still write, in ms. */
const patienceMs = 2_000;

/**
 * Starts a command without a shell. It has our standard input; the signals that we get are passed on to it, and it alone
 * decides what they do.
 */
export async function startCommand(
	command: string,
	parameters: readonly string[],
): Promise<RunningCommand | NotStarted> {
	const merged = await openMergedOutput();
	const output = merged?.writable ?? "pipe";
	const startedAt = performance.now();
	const child = spawn(command, parameters, { stdio: ["inherit", output, output], windowsHide: true });
	const source: Readable = merged?.readable ?? mergeRoughly([child.stdout, child.stderr]);

	const signalled = (signal: NodeJS.Signals) => {
		// A terminal has sent it to both of us already.
		if ((signal === "SIGINT" || signal === "SIGQUIT") && process.stdin.isTTY) return;
		child.kill(signal);
	};
	const signals = process.platform === "win32" ? passedOn.slice(0, 3) : passedOn;
	for (const signal of signals) process.on(signal, signalled);
	const ended = new Promise<RunEnding>((resolve) => {
		child.on("exit", (code, signal) => {
			for (const one of signals) process.off(one, signalled);
			const durationMs = performance.now() - startedAt;
			const exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
			resolve({ exitCode, durationMs, ...(signal === null ? {} : { signal }) });
			// A process that it left behind may hold the output open for ever.
			setTimeout(() => source.destroy(), patienceMs).unref();
		});
	});
	const started = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
		child.once("spawn", () => resolve(undefined)).once("error", resolve);
	});
	merged?.writable.destroy();
	if (started !== undefined) {
		source.destroy();
		for (const one of signals) process.off(one, signalled);
		const isAbsent = started.code === "ENOENT";
		const reason = isAbsent ? "there is no such command" : `it cannot be run (${started.code})`;
		return { exitCode: isAbsent ? 127 : 126, reason };
	}
	return { output: untilItEnds(source), ending: ended };
}

async function* untilItEnds(source: Readable): AsyncGenerator<Buffer> {
	try {
		for await (const piece of source) yield piece;
	} catch (error) {
		// Ended by us, or reset by a process that was killed: what came before it counts.
		const { code } = error as NodeJS.ErrnoException;
		if (code !== "ERR_STREAM_PREMATURE_CLOSE" && code !== "ECONNRESET") throw error;
	}
}

function mergeRoughly(sources: readonly (Readable | null)[]): Readable {
	const merged = new PassThrough();
	const open = sources.filter((source) => source !== null);
	let left = open.length;
	for (const source of open) {
		source.pipe(merged, { end: false });
		source.once("end", () => {
			left -= 1;
			if (left === 0) merged.end();
		});
	}
	return merged;
}

/** One end to write to, which a process takes as its standard output and as its standard error, and one to read from. */
export interface MergedOutput {
	readonly writable: Socket;
	readonly readable: Socket;
}

/**
 * Two connected sockets: where both of a process's outputs go into one, they come out in the order that they were written
 * in, as in a terminal. `undefined` where the system gives none.
 */
export async function openMergedOutput(): Promise<MergedOutput | undefined> {
	// A process of Windows cannot take a socket for an output.
	if (process.platform === "win32") return undefined;
	const address = path.join(tmpdir(), `.palimpsest-${randomUUID().slice(0, 8)}.sock`);
	const server = createServer();
	try {
		await new Promise<void>((resolve, reject) => server.once("error", reject).listen(address, resolve));
		const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
		const writable = connect(address);
		await new Promise<void>((resolve, reject) => writable.once("error", reject).once("connect", resolve));
		// Whoever reads hears of it by the end of what came.
		writable.on("error", () => {});
		return { writable, readable: await accepted };
	} catch {
		return undefined;
	} finally {
		server.close();
		await rm(address, { force: true }).catch(() => {});
	}
}
