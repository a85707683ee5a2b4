import { type Command, InvalidArgumentError } from "commander";

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
}

/** Adds what serving over HTTP takes. */
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
		.option("--sessions-per-principal <count>", "if not 100; 0 for any number", wholeNumber);
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
