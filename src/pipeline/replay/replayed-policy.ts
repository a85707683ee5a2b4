import { readPolicyFile } from "../../config/read-policy-file.ts";
import { decodeText, readRegularFile } from "../../files/read-file.ts";
import { readTextDocument } from "../../json-text/read.ts";
import { checkPolicyLayer } from "../../policy/check.ts";
import { resolvePolicy } from "../../policy/layers.ts";
import { presets } from "../../policy/presets.ts";
import type { Policy, PolicyLayer } from "../../policy/schema.ts";
import { type PolicyName, parsePolicyName } from "./policy-name.ts";

/** A policy that conversations are replayed under. */
export interface ReplayedPolicy {
	/** As it was asked for. */
	readonly name: string;
	/** `raw` masks nothing; `optimum` is the cheapest schedule that its window allows, found with hindsight. */
	readonly kind: "raw" | "optimum" | "replayed";
	readonly policy: Policy;
}

const mostBytes = 1_000_000;

/**
 * The policies that are named in `--policies`, in order, each once. A name is a layer over the configuration: what
 * masks, and when, is as the name says; the rest (the error rule, rules for tools, digests, how placeholders read) is as
 * configured. A policy file stands alone.
 *
 * @throws PalimpsestError `invalid_argument` for a name; `unreadable_file`, `invalid_policy` for a file.
 */
export function replayedPolicies(
	names: string,
	configured: readonly PolicyLayer[],
): Promise<readonly ReplayedPolicy[]> {
	const listed = new Set(names.split(",").map((name) => name.trim()));
	const parsed = Array.from(listed, (name) => ({ name, parsed: parsePolicyName(name) }));
	return Promise.all(
		parsed.map(async ({ name, parsed }): Promise<ReplayedPolicy> => {
			if (parsed.kind === "file") {
				return { name, kind: "replayed", policy: resolvePolicy([await layerOfFile(parsed.file)]) };
			}
			const policy = resolvePolicy([...configured, layerOf(parsed)]);
			return { name, kind: parsed.kind === "raw" || parsed.kind === "optimum" ? parsed.kind : "replayed", policy };
		}),
	);
}

function layerOf(name: Exclude<PolicyName, { kind: "file" }>): PolicyLayer {
	const byAge = { enabled: true, selection: "age", cadence: "every_turn", keep_tokens: null, patience: null } as const;
	switch (name.kind) {
		case "raw":
			return { mask: { enabled: false } };
		case "window":
		case "optimum":
			return { mask: { ...byAge, window_turns: name.window } };
		case "stride":
			return { mask: { ...byAge, window_turns: name.window, cadence: "stride", stride_turns: name.stride } };
		case "break_even":
			return { mask: { ...byAge, window_turns: name.window, cadence: "break_even" } };
		case "preset": {
			const { selection, cadence } = byAge;
			const thrift = name.thrift === undefined ? {} : { thrift: name.thrift };
			const mask = { selection, cadence, ...presets[name.preset].policy.mask, ...thrift };
			return { preset: name.preset, mask };
		}
	}
}

async function layerOfFile(file: string): Promise<PolicyLayer> {
	if (!/\.json$/i.test(file)) return readPolicyFile(file);
	const { value } = readTextDocument(decodeText(await readRegularFile(file, mostBytes), file), file);
	return checkPolicyLayer(value, file);
}
