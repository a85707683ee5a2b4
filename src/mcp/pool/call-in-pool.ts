import type { CallToolResult, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { Original } from "../../archive/archive.ts";
import type { ArchiveLocation } from "../../archive/open.ts";
import type { ArchiveSource } from "../../config/create-archive-source.ts";
import { SummariserError } from "../../errors.ts";
import type { Summariser } from "../../summariser/summariser.ts";
import { rawResult } from "../raw-message.ts";
import { failedCall, type ToolOutcome } from "../run-tool.ts";
import type { ToolContext } from "../tool.ts";
import { BusyError } from "./busy-error.ts";
import type { CallPool, ModelAnswer, ModelKind, ModelQuestion, ThreadJob } from "./call-pool.ts";
import { tellOfWork } from "./tell-of-work.ts";

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
