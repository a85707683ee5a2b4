import { type CompactionSource, createCompactionSource } from "../config/compaction.ts";
import type { Config } from "../config/config.ts";
import { PalimpsestError } from "../errors.ts";
import { spellingsOf } from "../json-text/edit.ts";
import { compactConversation } from "../operations/compact.ts";
import { strategyOfCall } from "../operations/compact-by-strategy.ts";
import type { CompactRequest, SummarySource } from "../operations/compaction-request.ts";
import type { Log } from "../operations/edit-record.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { Summariser } from "../summariser/summariser.ts";
import {
	type ArchiveCommandOptions,
	type CommonOptions,
	configOf,
	logToStderr,
	printJson,
	printOutcome,
	type RespondWith,
	readDocument,
	readInput,
	say,
	sayProgress,
	textOf,
	withArchive,
} from "./input-output.ts";
import { refuseUsage } from "./usage.ts";

/** The options of `palimpsest compact`. */
export interface CompactCommandOptions extends CommonOptions, ArchiveCommandOptions {
	readonly respondWith: RespondWith;
	readonly strategy?: BuiltInStrategy;
	readonly force?: boolean;
	readonly model?: string;
	/** Tokens. */
	readonly contextWindow?: number;
	/** Tokens. */
	readonly reserveTokens?: number;
	/** Print what a summary is to be written from, in place of asking a model. */
	readonly request?: boolean;
	/** File with the summary. */
	readonly summary?: string;
	readonly summaryToken?: string;
}

/** `palimpsest compact FILE`: prints the conversation with old results hidden, or a summary in the place of old messages. */
export async function compact(file: string, options: CompactCommandOptions): Promise<void> {
	checkUsage(options);
	const config = await configOf(options);
	const { policy } = config;
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const log = logToStderr(() => policy.log_level);
	const compaction = compactionOfCommand(config, log);
	try {
		const answer = await broughtOf(options, policy);
		const how = await compaction.open({ named: options.request ? "llm-summary" : options.strategy, answer });
		const { model, contextWindow, reserveTokens, force } = options;
		const outcome = await withArchive(options, policy, (archive) =>
			compactConversation({
				conversation: document.value,
				// A command ends with its answer, so there is no next turn.
				policy,
				...how,
				archive,
				spellingsOf: (paths) => spellingsOf(document, paths),
				model,
				contextWindow,
				reserveTokens,
				force: force === true || answer !== undefined,
				onProgress: sayProgress,
				log,
			}),
		);
		if (options.request) return printJson(outcome.request ?? refuse(nothingToSummarise), 2);
		if (outcome.request) refuse(nobodyToAsk);
		printOutcome(document, outcome, options.respondWith);
		const { result, trigger, tokens } = outcome.report;
		const what = trigger === "not_due" ? "not due, so nothing was changed (--force does it all the same)" : result;
		say(`${what}: ${tokens.before} → ${tokens.after} tokens`);
	} finally {
		await compaction.close();
	}
}

function checkUsage({ request, strategy, summary, summaryToken }: CompactCommandOptions): void {
	if (summaryToken !== undefined && summary === undefined) {
		refuseUsage("expected --summary-token only together with --summary");
	}
	if (request && strategy === "tool-result-hiding") {
		refuseUsage(`expected --request only with a strategy that summarises, got ${strategy}`);
	}
}

/** Where a summary comes from that no model is asked for; `undefined` where one is. */
async function broughtOf(
	{ request, summary, summaryToken }: CompactCommandOptions,
	policy: Policy,
): Promise<SummarySource | undefined> {
	if (summary !== undefined) {
		const text = textOf(await readInput(summary, policy.limits.max_file_bytes));
		return { kind: "given", summary: text, token: summaryToken };
	}
	return request ? { kind: "caller" } : undefined;
}

const nobodyToAsk =
	'A summary is needed, and there is nobody to ask. Name a model by PALIMPSEST_LLM_URL and PALIMPSEST_LLM_MODEL; or write it yourself: --request prints what from, and --summary FILE --summary-token TOKEN puts it in; or set compaction.answered_by=["none"] to drop old messages instead.';

const nothingToSummarise =
	"There is nothing to summarise: beside the task and the newest messages, which stay, there is none, or a summary alone.";

function refuse(message: string): never {
	throw new PalimpsestError("invalid_argument", message);
}

/** How a command compacts. */
export interface CommandCompaction {
	/**
	 * By which strategy, and who is asked for a summary: by default the endpoint that the environment names. Nothing is
	 * read or loaded before.
	 *
	 * @throws PalimpsestError `invalid_policy` where the environment's endpoint or an external strategy cannot be used.
	 */
	readonly open: (given?: {
		readonly named?: BuiltInStrategy | undefined;
		readonly answer?: SummarySource | undefined;
	}) => Promise<Pick<CompactRequest, "strategy" | "answer">>;
	/** Lets the connections to the endpoint go. */
	readonly close: () => Promise<void>;
}

/** Prepares what a command that compacts needs of its configuration. */
export function compactionOfCommand({ policy, file }: Config, log: Log): CommandCompaction {
	let source: CompactionSource | undefined;
	return {
		async open({ named, answer } = {}) {
			source ??= createCompactionSource({
				environment: process.env,
				policyFile: () => file?.path ?? null,
				workingDirectory: process.cwd(),
			});
			const { endpoint, loadStrategy: load } = source;
			const asked = answer ?? askedOf(policy, endpoint);
			return { answer: asked, strategy: await strategyOfCall({ named, policy, answer: asked, load, log }) };
		},
		async close() {
			await source?.close();
		},
	};
}

/** A command has no client whose model could be asked, and its caller is asked only where it says so. */
function askedOf({ compaction: { answered_by: ways } }: Policy, endpoint: Summariser | undefined): SummarySource {
	if (endpoint && ways.includes("openai-compatible")) return { kind: "summariser", summariser: endpoint };
	return { kind: ways.includes("none") ? "none" : "caller" };
}
