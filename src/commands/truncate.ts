import { shortenStream } from "../operations/truncate-stream.ts";
import { cutOfCall, nameOfLimit } from "../operations/truncation-limit.ts";
import type { TruncatePolicy } from "../policy/schema.ts";
import {
	type ArchiveCommandOptions,
	type CommonOptions,
	configOf,
	logToStderr,
	outputPieces,
	ownCommandLine,
	say,
	withArchive,
} from "./input-output.ts";

/** The limits that a command line can give. */
export interface LimitOptions {
	/** Characters (UTF-16 code units). */
	readonly maxChars?: number;
	/** Tokens, the notices among them. */
	readonly maxTokens?: number;
}

/** How a text is shortened where the policy is not to decide. */
export interface StrategyOptions {
	readonly strategy?: TruncatePolicy["strategy"];
	/** What whoever reads it is after. */
	readonly focus?: string;
}

/**
 * `palimpsest truncate FILE`: prints a text cut to its head and tail, or by a strategy to what matters in it; what is short
 * enough passes byte for byte. It may be of any length.
 */
export async function truncate(
	file: string,
	options: CommonOptions & ArchiveCommandOptions & LimitOptions & StrategyOptions,
): Promise<void> {
	const { focus } = options;
	const { policy } = await configOf(options);
	const log = logToStderr(() => policy.log_level);
	const cut = cutOfCall(policy, options);
	const limitName = nameOfLimit(cut, options);
	const shortened = await withArchive(options, policy, (archive) => {
		const command = ownCommandLine();
		return shortenStream({ pieces: outputPieces(file), policy, ...cut, focus, archive, command, log, limitName });
	});
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
