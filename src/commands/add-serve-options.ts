import { type Command, InvalidArgumentError, Option } from "commander";
import { type LogKind, logKinds } from "../mcp/http/logs.ts";

/** The options that `palimpsest serve` has for HTTP, as commander hands them over. */
export interface HttpServeOptions {
	/** `HOST:PORT`, or true for the default address; absent: standard input and output. */
	readonly http?: string | true;
	readonly publicUrl?: string;
	readonly stateless?: true;
	readonly authTokens?: string;
	readonly authIssuer?: string;
	readonly authAudience?: readonly string[];
	readonly authJwks?: string;
	readonly authScope?: readonly string[];
	readonly requestsPerMinute?: number;
	readonly concurrentCalls?: number;
	readonly callSeconds?: number;
	readonly sessionsPerPrincipal?: number;
	/** Where the metrics are: `HOST:PORT`, or true for `/metrics` of the server's own address; absent: nowhere. */
	readonly metrics?: string | true;
	readonly shutdownSeconds?: number;
	readonly threads?: number;
	readonly maxQueue?: number;
	/** For standard input and output too. */
	readonly log?: LogKind;
}

/** Adds what serving over HTTP takes, and the log. */
export function addServeOptions(command: Command): Command {
	return command
		.option("--http [host:port]", "serve over HTTP instead, by default at 127.0.0.1:8765")
		.option("--public-url <url>", "where clients reach it, if not there: the https://host of a proxy")
		.option("--stateless", "without sessions, for several processes behind a balancer")
		.option("--auth-tokens <file>", "who may use it: lines of NAME:TOKEN or NAME:sha256:HEX")
		.option("--auth-issuer <url>", "take JSON Web Tokens of this issuer")
		.option("--auth-audience <name>", "for whom they must be; repeatable", collect)
		.option("--auth-jwks <url>", "where the issuer's keys are, if its metadata does not say so")
		.option("--auth-scope <scope>", "what they must allow; repeatable", collect)
		.option("--requests-per-minute <count>", "of one principal, if not 600; 0 for any number", wholeNumber)
		.option("--concurrent-calls <count>", "of one principal, if not 16; 0 for any number", wholeNumber)
		.option("--call-seconds <seconds>", "longest call, if not 300; 0 for any time", seconds)
		.option("--sessions-per-principal <count>", "if not 100; 0 for any number", wholeNumber)
		.option("--threads <count>", "for long calls, if not one less than processors", wholeNumber)
		.option("--max-queue <count>", "calls that may wait for a thread, if not 64", wholeNumber)
		.option("--metrics [host:port]", "for Prometheus, at /metrics of the server, or on an address of their own")
		.option("--shutdown-seconds <seconds>", "for what runs when a signal ends the server, if not 10", seconds)
		.addOption(new Option("--log <kind>", "what standard error says, if not text").choices([...logKinds]));
}

function collect(value: string, all: readonly string[] = []): readonly string[] {
	return [...all, value];
}

function wholeNumber(text: string): number {
	const value = Number(text);
	if (text.trim() !== "" && Number.isSafeInteger(value) && value >= 0) return value;
	throw new InvalidArgumentError("Expected a whole number, 0 or more.");
}

function seconds(text: string): number {
	const value = Number(text);
	// A timer for longer than this many seconds fires at once.
	if (text.trim() !== "" && value >= 0 && value <= 2_000_000) return value;
	throw new InvalidArgumentError("Expected a number of seconds, 0 or more, up to 2000000.");
}
