import { spawn } from "node:child_process";
import { constants } from "node:os";
import { performance } from "node:perf_hooks";
import { PassThrough, type Readable } from "node:stream";
import type { RunEnding } from "../../pipeline/stream/excerpt-notices.ts";
import { openMergedOutput } from "./merged-output.ts";

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
