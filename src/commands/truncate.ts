import { ownCommandLine } from "../hosts/own-command.ts";
import { shortenStream } from "../operations/truncate-stream.ts";
import { cutOfCall, nameOfLimit } from "../operations/truncation-limit.ts";
import type { TruncatePolicy } from "../policy/schema.ts";
import {
	type ArchiveCommandOptions,
	commandConfig,
	logToStderr,
	outputPieces,
	say,
	withArchive,
} from "./input-output.ts";

export interface LimitOptions {
	readonly maxChars?: number;
	readonly maxTokens?: number;
}

/** `palimpsest truncate FILE` */
export async function truncate(
	file: string,
	options: ArchiveCommandOptions &
		LimitOptions & { readonly strategy?: TruncatePolicy["strategy"]; readonly focus?: string },
): Promise<void> {
	const { policy } = await commandConfig(options);
	const cut = cutOfCall(policy, options);
	const shortened = await withArchive(options, policy, (archive) =>
		shortenStream({
			...cut,
			pieces: outputPieces(file),
			policy,
			focus: options.focus,
			archive,
			command: ownCommandLine(),
			log: logToStderr(() => policy.log_level),
			limitName: nameOfLimit(cut.limit, options),
		}),
	);
	if (shortened.kind === "whole") {
		process.stdout.write(shortened.bytes);
		return;
	}
	const { text, failure } = shortened;
	if (failure !== undefined && policy.on_archive_failure === "refuse") {
		// A file can be read again; a pipe cannot, so that its excerpt is better than nothing.
		if (file !== "-") throw failure;
		say(`[${failure.code}] ${failure.message} Shown without a reference.`);
		process.exitCode = 1;
	}
	process.stdout.write(text);
}
