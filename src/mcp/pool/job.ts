// Loaded as the thread starts, so that its first call does not wait for them.
import "../../operations/mask.ts";
import "../../operations/truncate.ts";
import "../../operations/guard-with-compaction.ts";
import { isMainThread } from "node:worker_threads";
import { move, transferableSymbol, valueSymbol } from "piscina";
import type { Archive, Original } from "../../archive/archive.ts";
import { type ArchiveLocation, openArchiveOfPolicy } from "../../archive/open.ts";
import { type ArchiveSource, createArchiveSource } from "../../config/archive.ts";
import { createCompactionSource } from "../../config/compaction.ts";
import { createFileAccess } from "../../files/access.ts";
import type { LogEvent } from "../../operations/edit-record.ts";
import { resolvePolicy } from "../../policy/layers.ts";
import type { Policy } from "../../policy/schema.ts";
import { bytesOfTexts, messageParts } from "../answer.ts";
import { captureWarnings } from "../http/logs.ts";
import { failedCall, runTool, type ToolOutcome } from "../run-tool.ts";
import { tools } from "../server.ts";
import type { ToolContext } from "../tool.ts";
import { readArguments } from "./arguments.ts";
import { createAskedModels } from "./call.ts";
import type { ThreadJob, ThreadOutcome } from "./pool.ts";

// By this way a log of JSON can take them in.
if (!isMainThread) captureWarnings((warning) => void process.stderr.write(`${warning.name}: ${warning.message}\n`));

/** Open at the same time: with Redis each holds a connection. */
const mostOpen = 16;

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

/** Does a job's work with its archive. */
export type UseArchive = <T>(
	job: { readonly location: ArchiveLocation; readonly policy: Policy },
	work: (archive: Archive) => Promise<T>,
) => Promise<{ readonly value: T; readonly originals: readonly Original[] }>;

/**
 * Makes the archives of a thread, each opened when it is first used. One in memory is the server's, which no thread can
 * reach: what is put into it is collected, for the server to keep before it answers.
 */
export function createArchivesOfThread(): UseArchive {
	const sources = new Map<string, { readonly source: ArchiveSource | undefined; follow(policy: Policy): void }>();

	const sourceOf = (location: ArchiveLocation, policy: Policy): ArchiveSource | undefined => {
		const key = JSON.stringify(location);
		const one = sources.get(key) ?? open(location, policy);
		one.follow(policy);
		sources.delete(key);
		sources.set(key, one);
		const [longestUnused] = sources;
		if (sources.size > mostOpen && longestUnused) {
			longestUnused[1].source?.end();
			sources.delete(longestUnused[0]);
		}
		return one.source;
	};

	return async ({ location, policy }, work) => {
		if (location.where === "memory") return collect(location, policy, work);
		const source = sourceOf(location, policy);
		if (!source) throw new TypeError("Expected an archive that keeps something.");
		return { value: await source.use(work), originals: [] };
	};
}

function open(location: ArchiveLocation, first: Policy) {
	let policy = first;
	const follow = (next: Policy): void => {
		policy = next;
	};
	return { source: createArchiveSource({ location, policy: () => policy }), follow };
}

async function collect<T>(location: ArchiveLocation, policy: Policy, work: (archive: Archive) => Promise<T>) {
	const archive = await openArchiveOfPolicy(location, policy);
	if (!archive) throw new TypeError("Expected an archive in memory.");
	const originals: Original[] = [];
	const collecting: Archive = {
		...archive,
		put(more) {
			originals.push(...more);
			return archive.put(more);
		},
	};
	try {
		return { value: await work(collecting), originals };
	} finally {
		await archive.close();
	}
}
