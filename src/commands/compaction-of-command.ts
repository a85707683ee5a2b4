import { type CompactionSource, createCompactionSource } from "../config/create-compaction-source.ts";
import type { Config } from "../config.ts";
import type { CompactRequest } from "../pipeline/compaction/compact-request.ts";
import { strategyOfCall } from "../pipeline/compaction/strategy-of-call.ts";
import type { SummarySource } from "../pipeline/compaction/summary-source.ts";
import type { Log } from "../pipeline/log-event.ts";
import type { BuiltInStrategy } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { Summariser } from "../summariser/summariser.ts";

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
