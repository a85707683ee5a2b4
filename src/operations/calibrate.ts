import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { objectOf, stringAt } from "../formats/json-values.ts";
import { cacheSecondsOf } from "../masking/cache-time.ts";
import { addCalibrations, type CalibrationTotals, calibrateCalls, totalsOfCalls } from "../replaying/calibration.ts";
import type { Rates } from "./replay-rates.ts";

/** Totals of the calls of recorded sessions, as their provider billed them and as the replay predicts them. */
export interface CalibrationReport {
	readonly total: CalibrationFigures;
	/** Of the sessions without forks. */
	readonly without_forks: CalibrationFigures;
	/** Sessions in which a predicted sum is within 5 % of the billed one. */
	readonly within_5_percent: { readonly read: number; readonly written: number; readonly billed: number };
	readonly files: readonly CalibratedFile[];
}

export interface CalibratedFile extends CalibrationFigures {
	readonly file: string;
	readonly has_forks: boolean;
	/** The calls whose reads differ. Numbers are the provider's tokens. */
	readonly differences: readonly {
		readonly message: number;
		readonly input_tokens: number;
		readonly read_tokens: number;
		readonly predicted_read_tokens: number;
		readonly cause: string;
	}[];
}

export type CalibrationFigures = ReturnType<typeof figuresOf>;

/** `no_usage`: its records have none. `nothing_cached`: the provider cached nothing in it. */
export type Calibrated = "calibrated" | "no_usage" | "nothing_cached";

export function startCalibration(rates: Rates) {
	const files: { readonly totals: CalibrationTotals; readonly file: CalibratedFile }[] = [];
	return {
		/** Throws PalimpsestError `not_a_conversation`. */
		add({ file, conversation }: { readonly file: string; readonly conversation: unknown }): Calibrated {
			const source = readConversation(conversation);
			const { transcript } = source;
			const forks = forkedCalls(source);
			const ofSession = rates.lasting(cacheSecondsOf(transcript.messages, rates.prices));
			const calls = calibrateCalls(transcript, {
				cacheSeconds: rates.prices.cache_seconds,
				isForkBefore: (message) => forks.isBefore(message),
			});
			if (calls.length < 2) return "no_usage";
			if (calls.every(({ read }) => read === 0)) return "nothing_cached";
			const totals = totalsOfCalls(calls, ofSession.costOf);
			const differences = calls.flatMap(({ message, input, read, predictedRead, cause }) =>
				cause === undefined
					? []
					: [{ message, input_tokens: input, read_tokens: read, predicted_read_tokens: predictedRead, cause }],
			);
			files.push({ totals, file: { file, ...figuresOf(totals), has_forks: forks.any, differences } });
			return "calibrated";
		},
		report(): CalibrationReport {
			const sumOf = (some: typeof files) => figuresOf(addCalibrations(some.map(({ totals }) => totals)));
			const near = (of: (one: CalibratedFile) => number | null) =>
				files.filter(({ file }) => Math.abs(of(file) ?? 0) <= 0.05).length;
			return {
				total: sumOf(files),
				without_forks: sumOf(files.filter(({ file }) => !file.has_forks)),
				within_5_percent: {
					read: near((one) => one.read_difference),
					written: near((one) => one.written_difference),
					billed: near((one) => one.billed_difference),
				},
				files: files.map(({ file }) => file),
			};
		},
	};
}

function figuresOf(totals: CalibrationTotals) {
	return {
		conversations: totals.conversations,
		llm_calls: totals.calls,
		read_tokens: totals.read,
		predicted_read_tokens: totals.predictedRead,
		read_difference: share(totals.predictedRead, totals.read),
		written_tokens: totals.written,
		predicted_written_tokens: totals.predictedWritten,
		written_difference: share(totals.predictedWritten, totals.written),
		/** Of input tokens, in the units of `replay`. */
		billed: totals.billed,
		predicted_billed: totals.predictedBilled,
		billed_difference: share(totals.predictedBilled, totals.billed),
		causes: totals.causes,
	};
}

/** By how much of the billed number the predicted one is above it; null for 0. */
function share(predicted: number, billed: number): number | null {
	return billed === 0 ? null : (predicted - billed) / billed;
}

/** The LLM calls in a session's file that its conversation left: of branches that were rewound, retried or rolled back. */
function forkedCalls({ located, transcript }: ReadConversation) {
	const { messages: records, base } = located;
	const recordOf = (path: readonly (string | number)[] | undefined) => Number(path?.[base.length]);
	const used = new Set(transcript.messages.flatMap(({ paths }) => paths.map(recordOf)));
	const left = records.flatMap((record, index) => (!used.has(index) && isCall(record) ? [index] : []));
	const after = new Set<number>();
	let from = -1;
	let next = 0;
	transcript.messages.forEach(({ usage, paths }, message) => {
		if (!usage) return;
		const to = recordOf(paths[0]);
		while ((left[next] ?? Number.POSITIVE_INFINITY) <= from) next += 1;
		if ((left[next] ?? Number.POSITIVE_INFINITY) < to) after.add(message);
		from = to;
	});
	return { any: left.length > 0, isBefore: (message: number) => after.has(message) };
}

/** An answer of a model to the main agent: a record of Claude Code, pi or Codex. */
function isCall(record: unknown): boolean {
	if (!isJsonObject(record) || record.isSidechain === true) return false;
	const message = objectOf(record.message);
	if (isJsonObject(message.usage)) return message.model !== "<synthetic>";
	return record.type === "response_item" && isCodexAnswer(objectOf(record.payload));
}

function isCodexAnswer(item: JsonObject): boolean {
	return item.role === "assistant" || (stringAt(item, "type") ?? "").endsWith("_call");
}
