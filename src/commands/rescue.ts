import { rescueConversation } from "../operations/rescue.ts";
import { proxyPolicy } from "../proxy/defaults.ts";
import {
	type ArchiveCommandOptions,
	commandConfig,
	logToStderr,
	say,
	sourceOf,
	type WindowOptions,
	withArchive,
} from "./input-output.ts";
import { exitCodes } from "./usage.ts";
import { readSession, writeSession } from "./write-session.ts";

export interface SessionOptions extends ArchiveCommandOptions {
	readonly dryRun?: boolean;
}

/** `palimpsest rescue FILE`. Nothing is written if it cannot be made to fit; the exit code is then 3. */
export async function rescue(
	file: string,
	options: SessionOptions & Pick<WindowOptions, "model" | "contextWindow"> & { readonly target: number },
): Promise<void> {
	const policy = proxyPolicy(await commandConfig(options));
	const { document, source } = await readSession(file, policy);
	const { model, contextWindow, target, dryRun = false } = options;
	const { edits, report, error } = await withArchive(options, policy, (archive) =>
		rescueConversation({
			...sourceOf(document, dryRun ? undefined : archive),
			policy,
			model,
			contextWindow,
			target,
			log: logToStderr(() => policy.log_level),
		}),
	);
	if (error) throw error;
	const { tokens, budget_tokens: budget, context_window: window, steps } = report;
	const taken = steps.map(({ step, count }) => `${words[step]} ${count}`).join(", ");
	const sizes = `${tokens.before} → ${tokens.after} tokens of a window of ${window}`;
	if (!report.fits) {
		process.exitCode = exitCodes.doesNotFit;
		const over = `${report.shortfall_tokens} tokens over ${budget}`;
		return say(`does not fit, ${over}: ${sizes}; nothing was written. A larger --target or --context-window may do.`);
	}
	if (!report.changed) return say(`has room already: ${tokens.before} tokens of ${budget}; nothing was written`);
	const { format } = source;
	await writeSession({ file, document, edits, format, tokens: tokens.after, dryRun, policy });
	say(`${taken}: ${sizes}`);
}

const words = { truncate: "results truncated:", mask: "results masked:", drop: "messages dropped:" } as const;
