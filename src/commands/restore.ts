import { decodeText } from "../files/access.ts";
import { restoreText } from "../operations/restore.ts";
import {
	type ArchiveCommandOptions,
	commandConfig,
	inputName,
	readInput,
	say,
	withOwnArchive,
} from "./input-output.ts";
import { exitCodes } from "./usage.ts";

const mostNamed = 10;

/** `palimpsest restore FILE`. If a text stays cut, masked or summarised, the exit code is 1. */
export async function restore(
	file: string,
	options: ArchiveCommandOptions & { readonly byCallId?: boolean },
): Promise<void> {
	const { policy } = await commandConfig(options);
	const name = inputName(file);
	const text = decodeText(await readInput(file, policy.limits.max_file_bytes), name);
	const { byCallId } = options;
	const restored = await withOwnArchive(options, policy, (archive) =>
		restoreText({ text, archive, policy, byCallId, name }),
	);
	process.stdout.write(restored.text);
	const { restored: count, restored_by_call_id: byId, redacted, ...left } = restored.report;
	say(`restored ${count}${byId > 0 ? `, ${byId} of them by the tool_call_id alone` : ""}`);
	const tell = (what: string, names: readonly string[], hint = "") => {
		const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : "";
		if (names.length > 0) say(`${what}: ${names.slice(0, mostNamed).join(", ")}${more}${hint}`);
	};
	tell("not in the archive", left.missing);
	tell("ambiguous, left as they are (a tool may have printed them)", left.ambiguous);
	const hint = byCallId ? "" : "; --by-call-id looks these up by their tool_call_id";
	tell("cut or masked without a reference, left as they are", left.without_reference, hint);
	tell("summaries, left as they are; recall what they stand for", left.summaries);
	tell("redacted before they were kept, so not as they were", redacted);
	if (Object.values(left).some((names) => names.length > 0)) process.exitCode = exitCodes.refusedInput;
}
