import { type Config, loadConfig } from "../config.ts";
import { compactJson } from "../engine/stringify.ts";
import { withoutControls } from "../errors.ts";
import type { Log } from "../pipeline/log-event.ts";
import { type LogLevel, logLevels } from "../policy/names.ts";

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
