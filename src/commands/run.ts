import { limitTooSmall } from "../pipeline/cut-of-call.ts";
import { endingNotice, longestShortNotice } from "../pipeline/stream/excerpt-notices.ts";
import { type ExcerptLimit, limitCheck } from "../pipeline/stream/limit-check.ts";
import { shortenStream } from "../pipeline/stream/shorten-stream.ts";
import type { ShortenedOutput } from "../pipeline/stream/shortened-output.ts";
import type { Policy } from "../policy/schema.ts";
import { ownCommandLine } from "./own-command.ts";
import { startCommand } from "./run/start-command.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, say } from "./shell.ts";
import type { LimitOptions } from "./truncate.ts";
import { withArchive } from "./with-archive.ts";

/** Tokens of an output that is shown whole, where no limit is given. */
const usualTokens = 4_000;

/**
 * `palimpsest run -- COMMAND`: runs a command and prints its output, both kinds in order, within the limit; the exit code
 * is the command's own.
 */
export async function run(
	command: string,
	parameters: readonly string[],
	options: CommonOptions & ArchiveCommandOptions & LimitOptions,
): Promise<void> {
	const { policy } = await configOf(options);
	const { maxChars, maxTokens = usualTokens } = options;
	const limit =
		maxChars === undefined
			? ({ kind: "tokens", most: maxTokens } as const)
			: ({ kind: "chars", most: maxChars } as const);
	await requireRoomForNotice(limit, policy);
	await withArchive(options, policy, async (archive) => {
		const started = await startCommand(command, parameters);
		if ("reason" in started) {
			say(`cannot run ${command}: ${started.reason}`);
			process.exitCode = started.exitCode;
			return;
		}
		const { output, ending } = started;
		const shortened = await shortenStream({
			pieces: output,
			policy,
			limit,
			archive,
			ending: () => ending,
			command: ownCommandLine(),
			letThrough: true,
		});
		const ended = await ending;
		print(shortened);
		if (shortened.kind === "whole" && ended.exitCode !== 0) say(endingNotice(policy.locale, ended));
		process.exitCode = ended.exitCode;
	});
}

/** Refuses a limit that is too small before the command runs: what it puts out cannot be had a second time. */
async function requireRoomForNotice(limit: ExcerptLimit, policy: Policy): Promise<void> {
	const notice = longestShortNotice(policy.locale);
	// No token is shorter than a byte, so that most limits need no tokenizer.
	if (limit.most >= Buffer.byteLength(notice)) return;
	const least = (await limitCheck(limit, policy)).sizeOf(notice);
	if (limit.most < least) throw limitTooSmall({ name: `max_${limit.kind}`, given: limit.most, least });
}

function print(shortened: ShortenedOutput): void {
	process.stdout.write(shortened.kind === "whole" ? shortened.bytes : shortened.text);
	const { kind, failure } = shortened;
	if (failure === undefined) return;
	say(`[${failure.code}] ${failure.message} ${kind === "whole" ? "Shown whole." : "Shown without a reference."}`);
}
