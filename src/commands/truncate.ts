import { truncateText } from "../pipeline/truncate-text.ts";
import { readInput, textOf } from "./read-input.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, logToStderr } from "./shell.ts";
import { withArchive } from "./with-archive.ts";

/** `palimpsest truncate FILE`: prints a text cut to its head and tail; what is short enough passes byte for byte. */
export async function truncate(
	file: string,
	options: CommonOptions & ArchiveCommandOptions & { readonly maxChars?: number },
): Promise<void> {
	const { policy } = await configOf(options);
	const log = logToStderr(() => policy.log_level);
	const bytes = await readInput(file, policy.limits.max_file_bytes);
	const { maxChars } = options;
	const { text, report } = await withArchive(options, policy, (archive) =>
		truncateText({ text: textOf(bytes), policy, maxChars, archive, log }),
	);
	process.stdout.write(report.truncated ? text : bytes);
}
