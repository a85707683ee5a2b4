import type { ArchiveLocation, ArchiveSource } from "../../archive/open.ts";
import { ambiguous } from "../../archive/reference.ts";
import type { JsonObject } from "../../conversation/json.ts";
import { SummariserError } from "../../errors.ts";
import type { Summariser } from "../../summariser/summariser.ts";
import { rawResult } from "../answer.ts";
import type { WorkProgress } from "../client.ts";
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

/** Runs a call in another thread. Models are asked here, where the client is. Never throws. */
export async function callInPool(
	pool: CallPool,
	call: Pick<ThreadJob, "id" | "tool" | "offered" | "resultMembers" | "allowedPaths" | "policyFile"> & {
		readonly arguments: JsonObject | undefined;
		readonly context: ToolContext & { readonly signal: AbortSignal };
		readonly location: ArchiveLocation | undefined;
		/** Archives the originals of a thread if it is in the memory of this one. */
		readonly archive: ArchiveSource | undefined;
		readonly principal: string;
	},
): Promise<ToolOutcome> {
	const { id, tool, offered, resultMembers, context, archive, location, allowedPaths, policyFile, principal } = call;
	const { signal, onProgress, layers } = context;
	let phase: WorkProgress["phase"] | undefined;
	const began = performance.now();
	const report = (): void => {
		if (phase) onProgress?.({ kind: "work", phase, elapsed: (performance.now() - began) / 1_000 });
	};
	const timer = onProgress && setInterval(report, 1_000);
	try {
		const models: Models = { sampling: await context.clientModel?.(), endpoint: context.endpoint };
		const answers: ModelAnswer[] = [];
		let given = heldArguments(call.arguments) ?? new TextEncoder().encode(JSON.stringify(call.arguments ?? {}));
		const names = { sampling: models.sampling?.name, endpoint: models.endpoint?.name };
		const longRefs: string[] = [];
		const named = { id, tool, offered, resultMembers, models: names };
		const facts = { ...named, layers, policyFile, archive: location, allowedPaths };
		while (answers.length < 32) {
			const job = { ...facts, arguments: given, answers, longRefs };
			phase = "waiting_for_its_turn";
			const onBegin = () => {
				phase = "working";
			};
			const outcome = await pool.run(job, {
				principal,
				signal,
				isAdmitted: answers.length + longRefs.length > 0,
				onBegin,
			});
			if (outcome.kind === "answer") {
				const { message, code, originals, refs } = outcome;
				// Archive before anybody sees the answer.
				const stored = originals.length > 0 ? await archive?.use((opened) => opened.put(originals)) : undefined;
				const longer = stored?.filter((ref, index) => ref !== refs[index]) ?? [];
				if (longer.length > 0 && outcome.arguments && longRefs.length < 32) {
					// Another text in this memory has a short ref that the thread gave. It does the work again.
					longRefs.push(...longer);
					given = outcome.arguments;
					continue;
				}
				if (longer.length > 0) throw ambiguous();
				for (const event of outcome.log) context.log(event);
				return { result: rawResult(message), code, report: outcome.report, bytes: message.byteLength };
			}
			given = outcome.arguments;
			phase = undefined;
			answers.push(await ask(outcome.question, models, context));
		}
		throw new Error("A strategy asked a model again and again.");
	} catch (error) {
		const failed = failedCall(error, { tool, context });
		if (!(error instanceof BusyError)) return failed;
		const _meta = { "palimpsest/retry_after_ms": error.retry_after_ms };
		return { ...failed, result: { ...failed.result, _meta }, isBusy: true };
	} finally {
		clearInterval(timer);
	}
}

type Models = { readonly [model in ModelKind]?: Summariser | undefined };

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
