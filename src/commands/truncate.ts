import { PalimpsestError } from "../errors.ts";
import { shortenStream } from "../pipeline/stream/shorten-stream.ts";
import type { StreamLimit } from "../pipeline/stream/stream-limit.ts";
import type { Policy } from "../policy/schema.ts";
import { outputPieces } from "./output-pieces.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, logToStderr, say } from "./shell.ts";
import { withArchive } from "./with-archive.ts";

/** The limits that a command line can give. */
export interface LimitOptions {
	/** Characters (UTF-16 code units). */
	readonly maxChars?: number;
	/** Tokens, the notices among them. */
	readonly maxTokens?: number;
}

/**
 * `palimpsest truncate FILE`: prints a text cut to its head and tail, or to its largest excerpt of so many tokens; what is
 * short enough passes byte for byte. It may be of any length.
 */
export async function truncate(
	file: string,
	options: CommonOptions & ArchiveCommandOptions & LimitOptions,
): Promise<void> {
	const { policy } = await configOf(options);
	const log = logToStderr(() => policy.log_level);
	const shortened = await withArchive(options, policy, (archive) =>
		shortenStream({ pieces: outputPieces(file), policy, limit: limitOf(options, policy), archive, log }),
	);
	if (shortened.kind === "whole") {
		process.stdout.write(shortened.bytes);
		return;
	}
	const { text, failure } = shortened;
	if (failure !== undefined && policy.on_archive_failure === "refuse") {
		// A file is still there; what came through a pipe is not, so that its excerpt is better than nothing.
		if (file !== "-") throw failure;
		say(`[${failure.code}] ${failure.message} Shown without a reference.`);
		process.exitCode = 1;
	}
	process.stdout.write(text);
}

/** Tokens where they are given, else head and tail as the policy says. */
function limitOf({ maxChars, maxTokens }: LimitOptions, policy: Policy): StreamLimit {
	if (maxTokens === undefined) return { kind: "head_tail", maxChars: maxChars ?? policy.truncate.max_chars };
	if (maxChars === undefined) return { kind: "tokens", most: maxTokens };
	throw new PalimpsestError("invalid_argument", "Expected either --max-chars or --max-tokens, and not both.");
}
