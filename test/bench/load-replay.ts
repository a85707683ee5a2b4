import type * as Measure from "../../src/engine/conversation/measure.ts";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import type * as History from "../../src/engine/masking/history.ts";
import type * as Replay from "../../src/engine/masking/replay.ts";
import type * as Resolve from "../../src/engine/policy/layers.ts";
import type * as Presets from "../../src/engine/policy/presets.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import type * as Wordings from "../../src/engine/policy/wordings.ts";
import type * as Meter from "../../src/engine/replaying/bill.ts";
import type * as Faults from "../../src/engine/replaying/faults.ts";
import type * as Recall from "../../src/engine/replaying/recall.ts";
import type * as Placeholders from "../../src/storage/restore/recognise.ts";
import { importBuilt } from "./import-built.ts";

/** The product's replay, from the build. */
export interface LoadedReplay {
	/** Policies by their names in tables, those with memory first, then every preset as it comes. */
	readonly policies: ReadonlyMap<string, Policy>;
	/** All that `palimpsest replay` does for each policy: schedule, bill, faults and recall. */
	readonly replay: (transcript: Transcript, policies: readonly Policy[], meter: Measure.TokenMeter) => void;
}

/** Loads it. */
export async function loadReplay(): Promise<LoadedReplay> {
	const { readHistory } = await importBuilt<typeof History>("engine/masking/history.ts");
	const { replay } = await importBuilt<typeof Replay>("engine/masking/replay.ts");
	const { meterSchedule } = await importBuilt<typeof Meter>("engine/replaying/bill.ts");
	const { meterFaults } = await importBuilt<typeof Faults>("engine/replaying/faults.ts");
	const { measureRecall } = await importBuilt<typeof Recall>("engine/replaying/recall.ts");
	const { placeholdersOf } = await importBuilt<typeof Placeholders>("storage/restore/recognise.ts");
	const { presets } = await importBuilt<typeof Presets>("engine/policy/presets.ts");
	const { resolvePolicy } = await importBuilt<typeof Resolve>("engine/policy/layers.ts");
	const { wordings } = await importBuilt<typeof Wordings>("engine/policy/wordings.ts");
	const layers = {
		raw: { mask: { enabled: false } },
		"window:8": { mask: { window_turns: 8 } },
		"stride:10": { mask: { window_turns: 8, cadence: "stride", stride_turns: 10 } },
		"break_even:8": { mask: { window_turns: 8, cadence: "break_even" } },
		"balanced, thrift high": { preset: "balanced", mask: { thrift: "high" } },
		"balanced, thrift low": { preset: "balanced", mask: { thrift: "low" } },
	} as const;
	const ofPresets = Object.keys(presets).map((name) => [name, { preset: name as keyof typeof presets }] as const);
	return {
		policies: new Map([...Object.entries(layers), ...ofPresets].map(([name, layer]) => [name, resolvePolicy([layer])])),
		replay(transcript, policies, meter) {
			const histories = new Map<string, History.ReplayHistory>();
			for (const policy of policies) {
				const { keep_errors, error_detection, digest_tokens, placeholder_template } = policy.mask;
				const key = JSON.stringify([policy.locale, keep_errors, error_detection, digest_tokens, placeholder_template]);
				const history =
					histories.get(key) ??
					readHistory({
						transcript,
						policy: policy.mask,
						media: policy.media,
						wording: wordings(policy, "archived"),
						isPlaceholder: placeholdersOf(policy),
						countTokens: meter.countTokens,
						meter,
						uses: histories.values().next().value?.uses,
					});
				histories.set(key, history);
				const schedule = replay(history, { mask: policy.mask, prices: policy.prices });
				meterSchedule(history, schedule, policy.prices);
				const { cache_read, cache_write, output } = policy.prices;
				meterFaults(history, schedule, {
					costOf: ({ input, cached }) => cached * cache_read + (input - cached) * cache_write,
					costOfOutput: (tokens) => tokens * output,
				});
				measureRecall(history, schedule);
			}
		},
	};
}
