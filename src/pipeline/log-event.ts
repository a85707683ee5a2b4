import type { LogLevel } from "../policy/names.ts";

/** Something worth a line in the log. It tells names and sizes, never conversation text. */
export interface LogEvent {
	readonly level: LogLevel;
	readonly message: string;
	readonly data: Readonly<Record<string, string | number | boolean | null>>;
}

/** Takes log events; the shell decides where they go. */
export type Log = (event: LogEvent) => void;
