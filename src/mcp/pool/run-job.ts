import { isMainThread } from "node:worker_threads";
import { move, transferableSymbol, valueSymbol } from "piscina";
import type { Original } from "../../archive/archive.ts";
import { createCompactionSource } from "../../config/create-compaction-source.ts";
import { createFileAccess } from "../../files/file-access.ts";
import type { LogEvent } from "../../pipeline/log-event.ts";
import { resolvePolicy } from "../../policy/layers.ts";
import { captureWarnings } from "../http/logs.ts";
import { failedCall, runTool, type ToolOutcome } from "../run-tool.ts";
import type { ToolContext } from "../tool.ts";
import { tools } from "../tools.ts";
import { bytesOfTexts, messageParts } from "../written-json.ts";
import { createArchivesOfThread } from "./archives-of-thread.ts";
import { createAskedModels } from "./asked-models.ts";
import type { ThreadJob, ThreadOutcome } from "./call-pool.ts";
import { readArguments } from "./held-arguments.ts";
// Loaded as the thread starts, so that its first call does not wait for them.
import "../../pipeline/mask-conversation.ts";
import "../../pipeline/truncate-text.ts";
import "../../pipeline/compaction/guard-with-compaction.ts";

// By this way a log of JSON can take them in.
if (!isMainThread) captureWarnings((warning) => void process.stderr.write(`${warning.name}: ${warning.message}\n`));

const useArchive = createArchivesOfThread();
let policyFile: string | null = null;
const compaction = createCompactionSource({
	environment: process.env,
	policyFile: () => policyFile,
	workingDirectory: process.cwd(),
});

/** What a thread does with a job: reads its arguments, runs its tool, writes its answer. */
export async function runJob(job: ThreadJob): Promise<ThreadOutcome> {
	policyFile = job.policyFile;
	const log: LogEvent[] = [];
	const originals: Original[] = [];
	const asked = createAskedModels(job);
	const outcome = await runTo(job, {
		originals,
		context: {
			layers: job.layers,
			log: (event) => log.push(event),
			files: createFileAccess({
				workingDirectory: process.cwd(),
				folders: job.allowedPaths,
				roots: async () => [],
			}),
			ownsArguments: true,
			signal: asked.signal,
			clientModel: asked.models.sampling,
			endpoint: asked.models.endpoint,
			loadStrategy: compaction.loadStrategy,
		},
	});
	const question = asked.question();
	if (question) return moved({ kind: "question", question, arguments: job.arguments }, job.arguments);
	const { result, code, report } = outcome;
	const message = bytesOfTexts(messageParts({ jsonrpc: "2.0", id: job.id, result }));
	return moved({ kind: "answer", message, code, report, originals, log }, message);
}

async function runTo(
	job: ThreadJob,
	{ context, originals }: { readonly context: ToolContext; readonly originals: Original[] },
): Promise<ToolOutcome> {
	const tool = tools.find(({ name }) => name === job.tool);
	if (!tool) throw new TypeError("Expected a tool that there is.");
	let given: unknown;
	try {
		given = readArguments(job.arguments);
	} catch (error) {
		return failedCall(error, { tool: tool.name, context });
	}
	const { archive: location } = job;
	if (!location) return runTool({ tool, arguments: given, context });
	const policy = resolvePolicy(job.layers);
	return runTool({
		tool,
		arguments: given,
		context,
		async handle(work) {
			const used = await useArchive({ location, policy }, (archive) => work({ ...context, archive }));
			originals.push(...used.originals);
			return used.value;
		},
	});
}

/** Hands an outcome over with its bytes moved, not copied. */
function moved(outcome: ThreadOutcome, bytes: Uint8Array): ThreadOutcome {
	const movable = { [transferableSymbol]: bytes.buffer, [valueSymbol]: outcome };
	return move(movable as unknown as Parameters<typeof move>[0]) as unknown as ThreadOutcome;
}
