import { type AutoCompaction, guardWithCompaction } from "../operations/guard-with-compaction.ts";
import { commandCompaction } from "./compact.ts";
import {
	commandConfig,
	type EditOptions,
	editConversation,
	type IdleOptions,
	readDocument,
	say,
	sayProgress,
	type WindowOptions,
} from "./input-output.ts";
import { exitCodes } from "./usage.ts";

/** `palimpsest guard FILE`. The exit code is 3 if the result does not fit. */
export async function guard(
	file: string,
	options: EditOptions & WindowOptions & IdleOptions & { readonly lastResponse?: string },
): Promise<void> {
	const config = await commandConfig(options);
	const { policy } = config;
	const { model, contextWindow, reserveTokens, idleSeconds } = options;
	const compaction = commandCompaction(config);
	try {
		const { report } = await editConversation({ file, options, policy }, async (call) => {
			const { lastResponse: last } = options;
			const lastResponse = last === undefined ? last : (await readDocument(last, policy.limits.max_file_bytes)).value;
			const given = { model, contextWindow, reserveTokens, lastResponse, idleSeconds, onProgress: sayProgress };
			return guardWithCompaction({ ...call, ...given, compaction: compaction.open });
		});
		const { fits, tokens, budget_tokens: budget, shortfall_tokens: shortfall, compaction: compacted } = report;
		if (compacted) say(wordsFor(compacted, file));
		const sizes = `${tokens.before} → ${tokens.after} tokens`;
		if (fits === null) return say(`may fit or not, since no context window is known: ${sizes}`);
		say(`${fits ? "fits" : `does not fit, ${shortfall} tokens over`}: ${sizes}, budget ${budget}`);
		if (!fits) process.exitCode = exitCodes.doesNotFit;
	} finally {
		await compaction.close();
	}
}

function wordsFor(compacted: AutoCompaction, file: string): string {
	if (compacted.result === "failed") {
		return `compacting failed, guarded without: [${compacted.code}] ${compacted.message}`;
	}
	if (compacted.result !== "summary_requested") return `compacted first: ${compacted.result}`;
	return `not compacted: a summary is wanted, and there is nobody to ask. palimpsest compact ${file} --request prints what to write it from; compaction.answered_by=["none"] hides and drops instead.`;
}
