import { ownCommandLine } from "../hosts/own-command.ts";
import { countText } from "../operations/count.ts";
import { shortenStream } from "../operations/truncate-stream.ts";
import { cutOfCall, nameOfLimit } from "../operations/truncation-limit.ts";
import type { TruncatePolicy } from "../policy/schema.ts";
import type { EncodingName } from "../tokens/encodings.ts";
import {
	type ArchiveCommandOptions,
	type CommonOptions,
	commandConfig,
	logToStderr,
	outputPieces,
	printJson,
	readInput,
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

/** `palimpsest count FILE` */
export async function count(
	file: string,
	options: CommonOptions & { readonly model?: string; readonly encoding?: EncodingName; readonly json?: boolean },
): Promise<void> {
	const { policy } = await commandConfig(options);
	const text = (await readInput(file, policy.limits.max_file_bytes)).toString("utf8");
	const { model, encoding } = options;
	const counted = await countText({ text, policy, model, encoding });
	if (options.json) return printJson(counted);
	process.stdout.write(`${counted.tokens}\n`);
	if (counted.method !== "exact") say(`${counted.method}: ${counted.low} to ${counted.high} tokens`);
}
