// Loaded when the thread starts, so that its first call does not wait for them.
import "../../operations/mask.ts";
import "../../operations/truncate.ts";
import "../../operations/guard-with-compaction.ts";
import "../../operations/recall.ts";
import { isDeepStrictEqual } from "node:util";
import { isMainThread } from "node:worker_threads";
import { move, transferableSymbol, valueSymbol } from "piscina";
import { resolvePolicy } from "../../engine/policy/layers.ts";
import type { PolicyLayer } from "../../engine/policy/schema.ts";
import { SummariserError } from "../../errors.ts";
import type { LogEvent } from "../../log.ts";
import { captureWarnings } from "../../log.ts";
import { createCompactionSource } from "../../operations/config/compaction.ts";
import type { Summariser } from "../../operations/summariser/summariser.ts";
import type { Archive, Original } from "../../storage/archive/archive.ts";
import {
	type ArchiveLocation,
	type ArchiveSource,
	createArchives,
	openArchiveOfPolicy,
} from "../../storage/archive/open.ts";
import { createFileAccess } from "../../storage/files/access.ts";
import { messageBytes } from "../answer.ts";
import { runTool, type ToolContext } from "../tool.ts";
import { toolsNamed } from "../tools.ts";
import {
	archiveDuringFiles,
	beginComputing,
	type DuringFiles,
	type JobPhase,
	type ModelKind,
	type ModelQuestion,
	type ThreadJob,
	type ThreadOutcome,
} from "./pool.ts";

// From this stream, warnings get into the server's log of JSON.
if (!isMainThread) captureWarnings((warning) => void process.stderr.write(`${warning.name}: ${warning.message}\n`));

// A thread runs one job at a time. These belong to the current one.
let policyFile: string | null = null;
let layers: readonly PolicyLayer[] = [];

const archives = createArchives({ mostOpen: 16, policy: () => resolvePolicy(layers) });
const [workingDirectory, environment] = [process.cwd(), process.env];
const compaction = createCompactionSource({ environment, policyFile: () => policyFile, workingDirectory });

export async function runJob(job: ThreadJob & { readonly phase: JobPhase }): Promise<ThreadOutcome> {
	const duringFiles = beginComputing(job.phase);
	policyFile = job.policyFile;
	layers = job.layers;
	const log: LogEvent[] = [];
	const originals: Original[] = [];
	const asked = createAskedModels(job);
	const { sampling, endpoint } = asked.models;
	const files = createFileAccess({ workingDirectory, folders: job.allowedPaths, roots: async () => [] });
	const context: ToolContext = {
		layers: job.layers,
		log: (event) => log.push(event),
		files: {
			read: (given, maxBytes) => duringFiles(() => files.read(given, maxBytes)),
			write: (given, text, overwrite) => duringFiles(() => files.write(given, text, overwrite)),
			writeBeside: (given, word, text) => duringFiles(() => files.writeBeside(given, word, text)),
		},
		signal: asked.signal,
		clientModel: sampling && (async () => sampling),
		endpoint,
		loadStrategy: compaction.loadStrategy,
	};
	const tool = toolsNamed(job.offered).find(({ name }) => name === job.tool);
	if (!tool) throw new TypeError("Unknown tool.");
	const archive = job.archive && archiveOfJob(job.archive, { originals, duringFiles });
	const { result, code, report } = await runTool({ tool, arguments: job.arguments, context, archive });
	const question = asked.question();
	if (question) return moved({ kind: "question", question, arguments: job.arguments }, job.arguments);
	const json = messageBytes(result);
	return moved({ kind: "answer", result: json, code, report, originals, log }, json);
}

/** No thread can reach an archive in the server's memory: the server archives these originals before it answers. */
function archiveOfJob(
	location: ArchiveLocation,
	given: { readonly originals: Original[]; readonly duringFiles: DuringFiles },
): Pick<ArchiveSource, "use"> | undefined {
	if (location.where !== "memory") return archiveInPlace(location, given.duringFiles);
	return {
		async use(work) {
			const archive = await openArchiveOfPolicy(location, resolvePolicy(layers));
			if (!archive) throw new TypeError("Expected an archive in memory.");
			const put: Archive["put"] = async (more) => {
				const refs = await archive.put(more);
				given.originals.push(...more);
				return refs;
			};
			return work({ ...archive, put }).finally(archive.close);
		},
	};
}

function archiveInPlace(location: ArchiveLocation, duringFiles: DuringFiles): Pick<ArchiveSource, "use"> | undefined {
	const source = archives.of(location);
	return (
		source && {
			async use(work) {
				await duringFiles(() => source.use(async () => undefined));
				return source.use((archive) => work(archiveDuringFiles(archive, duringFiles)));
			},
		}
	);
}

function moved(outcome: ThreadOutcome, bytes: Uint8Array): ThreadOutcome {
	const movable = { [transferableSymbol]: bytes.buffer, [valueSymbol]: outcome };
	return move(movable as unknown as Parameters<typeof move>[0]) as unknown as ThreadOutcome;
}

function createAskedModels({ models, answers }: Pick<ThreadJob, "models" | "answers">) {
	const controller = new AbortController();
	const left = [...answers];
	let open: ModelQuestion | undefined;
	const summariserOf = (model: ModelKind): Summariser | undefined => {
		const name = models[model];
		if (name === undefined) return undefined;
		return {
			name,
			async summarise({ prompt, maxTokens, locale }) {
				const question: ModelQuestion = { model, prompt, maxTokens, locale };
				const index = left.findIndex((one) => isDeepStrictEqual(one.question, question));
				const [known] = index < 0 ? [] : left.splice(index, 1);
				if (known === undefined) {
					open ??= question;
					controller.abort(new Error("A model has to be asked first."));
					throw controller.signal.reason;
				}
				if ("code" in known) throw new SummariserError(known.code, known.message, known.statusCode);
				return known.answer;
			},
			close: async () => undefined,
		};
	};
	const asked = { sampling: summariserOf("sampling"), endpoint: summariserOf("endpoint") };
	return { models: asked, question: () => open, signal: controller.signal };
}
