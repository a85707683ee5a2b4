import { addToList } from "../../src/engine/conversation/lists.ts";
import { cacheSecondsOf } from "../../src/engine/masking/cache-time.ts";
import { type ReadConversation, readConversation } from "../../src/formats/detect.ts";
import type { Rates } from "../../src/operations/replay-rates.ts";
import { sessionEvents } from "../../src/proxy/billing/session-events.ts";
import {
	type CalibratedSession,
	calibrateCalls,
	calibrationTotals,
	type Interruption,
	withoutUnexplained,
} from "./calibration.ts";

/** Totals of the calls of recorded sessions, as their provider billed them and as the replay predicts them. */
export interface CalibrationReport {
	readonly total: CalibrationFigures;
	/** Of the sessions without forks. */
	readonly without_forks: CalibrationFigures;
	/** Of the same sessions, without the calls whose difference no rule explains. */
	readonly without_unexplained: CalibrationFigures;
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
type Calibrated = "calibrated" | "no_usage" | "nothing_cached";

export function startCalibration(rates: Rates) {
	const files: { readonly session: CalibratedSession; readonly file: CalibratedFile }[] = [];
	return {
		/** Throws PalimpsestError `not_a_conversation`. */
		add({ file, conversation }: { readonly file: string; readonly conversation: unknown }): Calibrated {
			const source = readConversation(conversation);
			const { transcript } = source;
			const interruptions = interruptionsOf(source);
			const ofSession = rates.lasting(cacheSecondsOf(transcript.messages, rates.prices));
			const calls = calibrateCalls(transcript, {
				cacheSeconds: rates.prices.cache_seconds,
				interruptionsBefore: (message) => interruptions.get(message) ?? [],
			});
			if (calls.length < 2) return "no_usage";
			if (calls.every(({ read }) => read === 0)) return "nothing_cached";
			const session = { calls, costOf: ofSession.costOf };
			const differences = calls.flatMap(({ message, input, read, predictedRead, cause }) =>
				cause === undefined
					? []
					: [{ message, input_tokens: input, read_tokens: read, predicted_read_tokens: predictedRead, cause }],
			);
			const has_forks = Array.from(interruptions.values()).some((some) => some.includes("fork"));
			files.push({ session, file: { file, ...figuresOf([session]), has_forks, differences } });
			return "calibrated";
		},
		report(): CalibrationReport {
			const all = files.map(({ session }) => session);
			const unforked = files.filter(({ file }) => !file.has_forks).map(({ session }) => session);
			const near = (of: (one: CalibratedFile) => number | null) =>
				files.filter(({ file }) => Math.abs(of(file) ?? 0) <= 0.05).length;
			return {
				total: figuresOf(all),
				without_forks: figuresOf(unforked),
				without_unexplained: figuresOf(unforked.map(withoutUnexplained)),
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

function figuresOf(sessions: readonly CalibratedSession[]) {
	const totals = calibrationTotals(sessions);
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

/** For messages with usage, what the file records between the call before it and its own; for -1, after the last call. */
function interruptionsOf(source: ReadConversation): ReadonlyMap<number, readonly Interruption[]> {
	const kinds = { compaction: "compaction", resumed: "restart", fork: "fork" } as const;
	const before = new Map<number, Interruption[]>();
	for (const [message, events] of sessionEvents(source)) {
		for (const { kind } of events) {
			if (kind === "compaction" || kind === "resumed" || kind === "fork") addToList(before, message, kinds[kind]);
		}
	}
	return before;
}
