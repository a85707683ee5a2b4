import { decodeText } from "../files/access.ts";
import { restoreText } from "../operations/restore.ts";
import {
	type ArchiveCommandOptions,
	type CommonOptions,
	configOf,
	readInput,
	say,
	withOwnArchive,
} from "./input-output.ts";
import { exitCodes } from "./usage.ts";

/** Names shown of those that could not be restored. */
const mostNamed = 10;

/** The options of `palimpsest restore`. */
export interface RestoreCommandOptions extends CommonOptions, ArchiveCommandOptions {
	/** Looks up what names no reference by the id of its call. */
	readonly byCallId?: boolean;
}

/**
 * `palimpsest restore FILE`: prints the conversation with every archived original back in its place. Where something
 * stays cut, masked or summarised, the rest is printed all the same, standard error names it, and the exit code is 1.
 */
export async function restore(file: string, options: RestoreCommandOptions): Promise<void> {
	const { policy } = await configOf(options);
	const name = file === "-" ? "standard input" : file;
	const text = decodeText(await readInput(file, policy.limits.max_file_bytes), name);
	const { byCallId } = options;
	const restored = await withOwnArchive(options, policy, (archive) =>
		restoreText({ text, archive, policy, byCallId, name }),
	);
	process.stdout.write(restored.text);
	const { restored: count, restored_by_call_id: byId, redacted, ...left } = restored.report;
	say(`restored ${count}${byId > 0 ? `, ${byId} of them by the tool_call_id alone` : ""}`);
	if (left.missing.length > 0) say(`not in the archive: ${named(left.missing)}`);
	if (left.ambiguous.length > 0) {
		say(`ambiguous, left as they are (a tool may have printed them): ${named(left.ambiguous)}`);
	}
	if (left.without_reference.length > 0) {
		const hint = byCallId ? "" : "; --by-call-id looks these up by their tool_call_id";
		say(`cut or masked without a reference, left as they are: ${named(left.without_reference)}${hint}`);
	}
	if (left.summaries.length > 0) {
		say(`summaries, left as they are; recall what they stand for: ${named(left.summaries)}`);
	}
	if (redacted.length > 0) say(`redacted before they were kept, so not as they were: ${named(redacted)}`);
	if (Object.values(left).some((names) => names.length > 0)) process.exitCode = exitCodes.refusedInput;
}

function named(names: readonly string[]): string {
	const rest = names.length - mostNamed;
	return `${names.slice(0, mostNamed).join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}
