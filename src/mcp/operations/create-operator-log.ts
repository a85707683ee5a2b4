import { StringDecoder } from "node:string_decoder";
import type { Log } from "../../pipeline/log-event.ts";
import type { OnCallEnd } from "../call-end.ts";
import type { LogKind } from "./log-kinds.ts";
import { callLine, callWords, eventLine, levelOf } from "./log-lines.ts";

/** An operator's log: events, and calls when they have ended. */
export interface OperatorLog {
	readonly log: Log;
	readonly onCallEnd: OnCallEnd;
	/** Takes what is told whatever the level: that the server has started, and that it ends. */
	readonly announce: Log;
}

/** What a log is made from. */
export interface OperatorLogOptions {
	readonly kind: LogKind;
	/** Whether the policy in force asks for events of this level. */
	readonly isWanted: (level: Parameters<Log>[0]["level"]) => boolean;
	/** Takes an event in words, and leaves out what is not wanted. */
	readonly inWords: Log;
	/** Takes an announcement in words. */
	readonly say: (words: string) => void;
	/** Takes a line without its end. */
	readonly write: (line: string) => void;
}

/** Makes the log that an operator asked for. */
export function createOperatorLog({ kind, isWanted, inWords, say, write }: OperatorLogOptions): OperatorLog {
	switch (kind) {
		case "text":
			return {
				log: inWords,
				onCallEnd: (end) => inWords({ level: levelOf(end), message: callWords(end), data: { event: "call" } }),
				announce: ({ message }) => say(message),
			};
		case "json":
			return {
				log: (event) => {
					if (isWanted(event.level)) write(eventLine(event, new Date()));
				},
				onCallEnd: (end) => write(callLine(end, new Date())),
				announce: (event) => write(eventLine(event, new Date())),
			};
		case "off":
			return { log: () => {}, onCallEnd: () => {}, announce: () => {} };
	}
}

/** Longest stray line that is logged, in characters; the rest of it is cut off. */
const longestStrayLine = 2_000;

/**
 * Turns everything else that this process writes to standard error into events, so that a log of JSON stays one object a
 * line: warnings of Node, words of packages and of strategies of the user's own (also in worker threads, whose standard
 * error Node hands on to this stream), and the error that ends the process. Answers with the function that writes a line of
 * the log itself.
 */
export function captureStandardError(log: Log): (line: string) => void {
	const { stderr } = process;
	const write = stderr.write.bind(stderr);
	const stray = (line: string): void => {
		if (line.trim() === "") return;
		log({ level: "warning", message: line.slice(0, longestStrayLine), data: { event: "stray_line" } });
	};
	const decoder = new StringDecoder("utf8");
	let begun = "";
	const take = (text: string): void => {
		const lines = (begun + text).split(/\r?\n/);
		begun = lines.pop() ?? "";
		for (const line of lines) stray(line);
		if (begun.length > longestStrayLine) endLine();
	};
	const endLine = (): void => {
		stray(begun);
		begun = "";
	};
	process.on("exit", endLine);
	stderr.write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
		take(typeof chunk === "string" ? chunk : decoder.write(Buffer.from(chunk)));
		const whenWritten = rest.find((one) => typeof one === "function");
		if (whenWritten) process.nextTick(whenWritten);
		return true;
	};
	captureWarnings((warning) => {
		const code = "code" in warning ? String(warning.code) : null;
		const data = { event: "process_warning", warning: warning.name, code };
		log({ level: "warning", message: warning.message.slice(0, longestStrayLine), data });
	});
	process.on("uncaughtException", (error: unknown) => {
		const name = error instanceof Error ? error.name : typeof error;
		// Frames alone: the message may quote a conversation.
		const frames = error instanceof Error ? (error.stack ?? "").match(/^ {4}at .*/gm) : null;
		const data = { event: "defect", error: name, stack: (frames ?? []).map((frame) => frame.trim()).join("; ") };
		log({ level: "error", message: "The process ends by a defect", data });
		process.exit(defectExitCode);
	});
	return (line) => void write(`${line}\n`);
}

/** As of any command that ends by a defect of ours. */
const defectExitCode = 70;

/**
 * Has warnings of Node told to a listener instead of written. Node writes them past `process.stderr`, in a worker thread
 * too. Warnings that the operator turned off stay off.
 */
export function captureWarnings(listener: (warning: Error) => void): void {
	if (process.listenerCount("warning") === 0) return;
	process.removeAllListeners("warning");
	process.on("warning", listener);
}
