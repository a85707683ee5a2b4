import { decodeText } from "../documents/decode-text.ts";
import { restoreText } from "../pipeline/restore-text.ts";
import { readInput } from "./read-input.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, say } from "./shell.ts";
import { withOwnArchive } from "./with-archive.ts";

/** Names shown of those that could not be restored. */
const mostNamed = 10;

/**
 * `palimpsest restore FILE`: prints the conversation with every archived original back in its place. Where one is missing
 * or cannot be told, the rest is printed all the same and the exit code is 1.
 */
export async function restore(file: string, options: CommonOptions & ArchiveCommandOptions): Promise<void> {
	const { policy } = await configOf(options);
	const name = file === "-" ? "standard input" : file;
	const text = decodeText(await readInput(file, policy.limits.max_file_bytes), name);
	const restored = await withOwnArchive(options, policy, (archive) => restoreText({ text, archive, policy, name }));
	process.stdout.write(restored.text);
	const { restored: count, missing, ambiguous, redacted } = restored.report;
	say(`restored ${count}`);
	if (missing.length > 0) say(`not in the archive: ${named(missing)}`);
	if (ambiguous.length > 0) say(`several originals, and nothing tells which: ${named(ambiguous)}`);
	if (redacted.length > 0) say(`redacted before they were kept, so not as they were: ${named(redacted)}`);
	if (missing.length + ambiguous.length > 0) process.exitCode = 1;
}

function named(names: readonly string[]): string {
	const rest = names.length - mostNamed;
	return `${names.slice(0, mostNamed).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
