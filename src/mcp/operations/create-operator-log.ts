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
