import type { CallToolResult, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Original } from "../../archive/archive.ts";
import type { ArchiveLocation } from "../../archive/open.ts";
import type { ArchiveSource } from "../../config/archive.ts";
import { SummariserError } from "../../errors.ts";
import type { Summariser } from "../../summariser/summariser.ts";
import { rawResult } from "../answer.ts";
import type { CallProgress, WorkProgress } from "../client.ts";
import { failedCall, type ToolOutcome } from "../run-tool.ts";
import type { ToolContext } from "../tool.ts";
import { heldArguments } from "./arguments.ts";
import {
	BusyError,
	type CallPool,
	type ModelAnswer,
	type ModelKind,
	type ModelQuestion,
	type ThreadJob,
} from "./pool.ts";

/** The models of a job: those that have answered. */
export interface AskedModels {
	readonly models: { readonly [model in ModelKind]?: Summariser };
	/** What a model was asked that has no answer yet, which ended the work. */
	question(): ModelQuestion | undefined;
	/** Aborted when there is such a question. */
	readonly signal: AbortSignal;
}

/**
 * Makes the models of a job from the answers that it brings. What has no answer yet ends the work: the thread is not held
 * while a model thinks, and the job comes again with the answer.
 */
export function createAskedModels({ models, answers }: Pick<ThreadJob, "models" | "answers">): AskedModels {
	const controller = new AbortController();
	const left = [...answers];
	let open: ModelQuestion | undefined;

	const summariserOf = (model: ModelKind, name: string): Summariser => ({
		name,
		async summarise({ prompt, maxTokens, locale }) {
			const question: ModelQuestion = { model, prompt, maxTokens, locale };
			const index = left.findIndex((one) => isSame(one.question, question));
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
	});
	const named = Object.entries(models).filter((entry): entry is [ModelKind, string] => entry[1] !== undefined);
	return {
		models: Object.fromEntries(named.map(([model, name]) => [model, summariserOf(model, name)])),
		question: () => open,
		signal: controller.signal,
	};
}

function isSame(one: ModelQuestion, other: ModelQuestion): boolean {
	return (
		one.model === other.model &&
		one.prompt === other.prompt &&
		one.maxTokens === other.maxTokens &&
		one.locale === other.locale
	);
}

/** What is called. */
interface Called {
	readonly name: string;
	readonly arguments?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Whether a call may take long enough to hold up other clients: it has large arguments, names a file of any size, or
 * searches an original of any size. An original in the memory of this thread can be searched here alone.
 */
export function belongsInPool({ name, arguments: given }: Called, { location }: PoolBinding): boolean {
	if (heldArguments(given) !== undefined) return true;
	if (name === "recall_original") return given?.grep !== undefined && location?.where !== "memory";
	return given?.path !== undefined;
}

/** The arguments of a call as bytes that are its own. */
export function bytesOfArguments(given: Readonly<Record<string, unknown>> | undefined): Uint8Array {
	return heldArguments(given) ?? new TextEncoder().encode(JSON.stringify(given ?? {}));
}

/** What calls go to other threads with. */
export interface PoolBinding {
	readonly pool: CallPool;
	/** Where originals are kept, for threads that open the archive themselves; absent where nothing is. */
	readonly location?: ArchiveLocation | undefined;
	readonly allowedPaths: readonly string[];
	/** The policy file in force. */
	readonly policyFile: () => string | null;
	/** In whose turn calls come. */
	readonly principal: string;
}

/** A call for another thread. */
export interface CallForPool {
	readonly id: RequestId;
	readonly tool: string;
	/** The arguments as JSON; nobody else uses them any more. */
	readonly arguments: Uint8Array;
	readonly context: ToolContext & { readonly signal: AbortSignal };
	/** The archive of this thread, where the place of the archive is its memory. */
	readonly archive?: ArchiveSource | undefined;
}

/** What came of a call, and how large its answer is. */
export interface PooledOutcome extends ToolOutcome {
	/** Bytes of the answer. */
	readonly bytes: number;
	readonly isBusy: boolean;
}

/** Most questions to models in one call. */
const mostQuestions = 32;

/** Runs a call in another thread. What has to be asked of a model is asked here, where the client is. Never throws. */
export async function callInPool(binding: PoolBinding, call: CallForPool): Promise<PooledOutcome> {
	const { context, archive } = call;
	const { signal } = context;
	const progress = tellOfWork(context.onProgress);
	try {
		const models = await modelsOf(context);
		const answers: ModelAnswer[] = [];
		let given = call.arguments;
		while (answers.length < mostQuestions) {
			const job = jobOf(binding, { ...call, arguments: given }, models, answers);
			const isAdmitted = answers.length > 0;
			progress.tell("waiting_for_its_turn");
			const onBegin = () => progress.tell("working");
			const outcome = await binding.pool.run(job, { principal: binding.principal, signal, isAdmitted, onBegin });
			if (outcome.kind === "answer") {
				for (const event of outcome.log) context.log(event);
				await keep(outcome.originals, archive);
				const { message, code, report } = outcome;
				return { result: rawResult(message), code, report, bytes: message.byteLength, isBusy: false };
			}
			given = outcome.arguments;
			// From here on the model's own progress is told.
			progress.tell(undefined);
			answers.push(await ask(outcome.question, models, context));
		}
		throw new Error("A strategy asked a model again and again.");
	} catch (error) {
		const failed = failedCall(error, { tool: call.tool, context });
		return { ...failed, result: withRetryAfter(failed.result, error), bytes: 0, isBusy: error instanceof BusyError };
	} finally {
		progress.end();
	}
}

type Models = { readonly [model in ModelKind]?: Summariser };

async function modelsOf({ sampling, endpoint }: ToolContext): Promise<Models> {
	if (!sampling) return endpoint ? { endpoint } : {};
	const { createSamplingSummariser } = await import("../../summariser/sampling.ts");
	return { sampling: createSamplingSummariser({ createMessage: sampling }), ...(endpoint ? { endpoint } : {}) };
}

function jobOf(
	{ location, allowedPaths, policyFile }: PoolBinding,
	{ id, tool, context, ...call }: CallForPool,
	models: Models,
	answers: readonly ModelAnswer[],
): ThreadJob {
	return {
		id,
		tool,
		arguments: call.arguments,
		layers: context.layers,
		policyFile: policyFile(),
		archive: location,
		allowedPaths,
		models: { sampling: models.sampling?.name, endpoint: models.endpoint?.name },
		answers,
	};
}

async function ask(question: ModelQuestion, models: Models, context: ToolContext): Promise<ModelAnswer> {
	const { model, ...request } = question;
	const { signal, onProgress } = context;
	try {
		const answer = await models[model]?.summarise({ ...request, signal, onProgress });
		if (!answer) throw new TypeError("Expected a question to a model that there is.");
		return { question, answer };
	} catch (error) {
		if (!(error instanceof SummariserError)) throw error;
		return { question, code: error.code, message: error.message, statusCode: error.status_code };
	}
}

/** Nothing that a thread took out of a conversation is answered before it is kept. */
async function keep(originals: readonly Original[], archive: ArchiveSource | undefined): Promise<void> {
	if (originals.length === 0) return;
	await archive?.use((opened) => opened.put(originals));
}

/** When to call again, for programs too. */
function withRetryAfter(result: CallToolResult, error: unknown): CallToolResult {
	if (!(error instanceof BusyError)) return result;
	return { ...result, _meta: { "palimpsest/retry_after_ms": error.retry_after_ms } };
}

/** Tells of a call while it works. */
export interface WorkTeller {
	/** What is told from now on; nothing where somebody else tells how far the call is. */
	tell(phase: WorkProgress["phase"] | undefined): void;
	end(): void;
}

/** Calls that take less are not told of; those that take more, this often. In ms. */
const everyMilliseconds = 1_000;

/** Tells every second that a call goes on, and whether it still waits. `onProgress` is absent where nobody asked. */
export function tellOfWork(onProgress: ((progress: CallProgress) => void) | undefined): WorkTeller {
	if (!onProgress) return { tell() {}, end() {} };
	const began = performance.now();
	let current: WorkProgress["phase"] | undefined;
	const timer = setInterval(() => {
		const elapsed = (performance.now() - began) / 1_000;
		if (current) onProgress({ kind: "work", phase: current, elapsed });
	}, everyMilliseconds);
	return {
		tell(phase) {
			current = phase;
		},
		end: () => clearInterval(timer),
	};
}
