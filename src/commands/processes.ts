import type { ChildProcess } from "node:child_process";
import { constants } from "node:os";

/** The signals that a process on the platform can get and listen to. */
function signalsOf(platform: NodeJS.Platform): readonly NodeJS.Signals[] {
	return platform === "win32" ? passedOn.slice(0, 3) : passedOn;
}

const passedOn = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** Gives our signals to a child process until the returned function is called. */
export function passSignals(child: ChildProcess): () => void {
	const signalled = (signal: NodeJS.Signals) => {
		// The terminal has sent it to both processes.
		if ((signal === "SIGINT" || signal === "SIGQUIT") && process.stdin.isTTY) return;
		child.kill(signal);
	};
	const signals = signalsOf(process.platform);
	for (const signal of signals) process.on(signal, signalled);
	return () => {
		for (const signal of signals) process.off(signal, signalled);
	};
}

/** As a shell gives it: 128 and the number of the signal that ended the process. */
export function exitCodeOfEnd(code: number | null, signal: NodeJS.Signals | null): number {
	return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** Waits until a child process runs. Otherwise says why not, with the exit code of shells. */
export async function startOf(
	child: ChildProcess,
): Promise<
	{ readonly kind: "running" } | { readonly kind: "not_started"; readonly exitCode: number; readonly reason: string }
> {
	const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
		child.once("spawn", () => resolve(undefined)).once("error", resolve);
	});
	if (failure === undefined) return { kind: "running" };
	const isAbsent = failure.code === "ENOENT";
	const reason = isAbsent ? "there is no such command" : `it cannot be run (${failure.code})`;
	return { kind: "not_started", exitCode: isAbsent ? 127 : 126, reason };
}

/**
 * Waits for a child that leads a process group, for so many seconds at most or until `signal`. Then the whole group gets SIGTERM,
 * and SIGKILL five seconds later; processes that an ended child leaves in its group are killed at once.
 */
export async function endInTime(
	child: ChildProcess,
	given: { readonly ended: Promise<number>; readonly seconds: number; readonly signal: AbortSignal },
): Promise<
	{ readonly kind: "ended"; readonly code: number } | { readonly kind: "timeout" } | { readonly kind: "interrupted" }
> {
	const { ended, seconds, signal } = given;
	let late: (kind: "timeout" | "interrupted") => void = () => {};
	const lateness = new Promise<"timeout" | "interrupted">((resolve) => {
		late = resolve;
	});
	const interrupt = () => late("interrupted");
	const timer = setTimeout(() => late("timeout"), seconds * 1_000);
	signal.addEventListener("abort", interrupt);
	if (signal.aborted) interrupt();
	try {
		const first = await Promise.race([ended, lateness]);
		if (typeof first === "number") return { kind: "ended", code: first };
		signalGroup(child, "SIGTERM");
		const kill = setTimeout(() => signalGroup(child, "SIGKILL"), 5_000);
		await ended;
		clearTimeout(kill);
		return { kind: first };
	} finally {
		clearTimeout(timer);
		signal.removeEventListener("abort", interrupt);
		signalGroup(child, "SIGKILL");
	}
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
	if (pid === undefined) return;
	try {
		process.kill(-pid, signal);
	} catch {
		// All of it has ended.
	}
}

/** Resolves at the first signal to end; a second one ends the process as if it had not been caught. */
export function untilSignal(): Promise<NodeJS.Signals> {
	return new Promise((resolve) => {
		let isEnding = false;
		for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
			process.on(signal, () => {
				if (isEnding) process.exit(128 + constants.signals[signal]);
				isEnding = true;
				resolve(signal);
			});
		}
	});
}
