import { clearedText } from "../engine/masking/placeholder.ts";
import { checkPolicyLayer } from "../engine/policy/check.ts";
import { nearestName } from "../engine/policy/errors.ts";
import { resolvePolicy } from "../engine/policy/layers.ts";
import { type PresetName, presetNames } from "../engine/policy/names.ts";
import { byAge, presets } from "../engine/policy/presets.ts";
import type { MaskPolicy, Policy, PolicyLayer } from "../engine/policy/schema.ts";
import type { ReplayedCompaction } from "../engine/replaying/compaction.ts";
import { type Rival, rivalPlaceholders } from "../engine/replaying/rivals.ts";
import { PalimpsestError } from "../errors.ts";
import { readTextDocument } from "../formats/json-text/read.ts";
import { decodeText, readRegularFile } from "../storage/files/access.ts";
import { readPolicyFile } from "./config/config.ts";
import { arrivesWhole } from "./replay-arrival.ts";

export type ReplayedPolicy = {
	readonly name: string;
	/** A rival takes its placeholder from it. */
	readonly policy: Policy;
} & (
	| {
			readonly kind: "replayed";
	  }
	| { readonly kind: "rival"; readonly rival: Rival }
	| { readonly kind: "compaction"; readonly compaction: ReplayedCompaction }
);

const mostBytes = 1_000_000;

/** Named policies are layers over the configuration; policy files are used without it. Throws as the name or the file requires. */
export function replayedPolicies(names: string, configured: readonly PolicyLayer[]) {
	const listed = new Set(names.split(",").map((name) => name.trim()));
	const parsed = Array.from(listed, (name) => [name, parsePolicyName(name)] as const);
	return Promise.all(
		parsed.map(async ([name, policyName]): Promise<ReplayedPolicy> => {
			if (policyName.kind === "file") {
				return { name, kind: "replayed", policy: withClearing(resolvePolicy([await layerOfFile(policyName.file)])) };
			}
			const { masking, arrival, repeats } = policyName;
			const truncate = { ...truncateOf(arrival, masking), ...(repeats ? { repeats } : {}) };
			const policy = resolvePolicy([...configured, layerOf(masking), { truncate }]);
			if (masking.kind === "rival") return { name, kind: "rival", rival: masking.rival, policy };
			if (masking.kind === "compaction") return { name, kind: "compaction", compaction: masking.compaction, policy };
			return { name, kind: "replayed", policy: withClearing(policy) };
		}),
	);
}

/** What is cut as it arrives. Without a name it is what a preset cuts; all that is not a preset cuts nothing. */
function truncateOf(arrival: Arrival | undefined, masking: Masking): NonNullable<PolicyLayer["truncate"]> {
	switch (arrival?.kind) {
		case undefined:
			return masking.kind === "preset" ? (presets[masking.preset].policy.truncate ?? {}) : arrivesWhole;
		case "whole":
			return arrivesWhole;
		case "arrival":
			return { strategy: "auto", max_chars: arrival.most, command_chars: arrival.ofCommands, repeats: false };
		case "head_tail": {
			const [head_chars, tail_chars] = [Math.ceil(arrival.most / 2), Math.floor(arrival.most / 2)];
			return {
				strategy: "head_tail",
				max_chars: arrival.most,
				command_chars: null,
				repeats: false,
				head_chars,
				tail_chars,
			};
		}
	}
}

/** Where the provider clears, its own text takes the place of a result. */
function withClearing(policy: Policy): Policy {
	if (policy.mask.by !== "provider") return policy;
	return { ...policy, mask: { ...policy.mask, placeholder_template: clearedText, digest_tokens: 0 } };
}

function layerOf(name: Masking): PolicyLayer {
	switch (name.kind) {
		case "raw":
		case "compaction":
			return { mask: { enabled: false } };
		case "window":
			return { mask: { ...byAge, window_turns: name.window } };
		case "stride":
			return { mask: { ...byAge, window_turns: name.window, cadence: "stride", stride_turns: name.stride } };
		case "break_even":
			return { mask: { ...byAge, window_turns: name.window, cadence: "break_even" } };
		case "preset": {
			const { selection, cadence } = byAge;
			const thrift = name.thrift === undefined ? {} : { thrift: name.thrift };
			const by = name.isByProvider ? ({ by: "provider" } as const) : {};
			const mask = { selection, cadence, ...presets[name.preset].policy.mask, ...thrift, ...by };
			return { preset: name.preset, mask };
		}
		case "rival": {
			// No rival keeps errors.
			const mask = { ...byAge, keep_errors: false };
			if (name.isOurPlaceholder) return { preset: "balanced", mask };
			const placeholder_template = rivalPlaceholders[name.rival.kind];
			return { mask: { ...mask, digest_tokens: 0, placeholder_template } };
		}
	}
}

async function layerOfFile(file: string): Promise<PolicyLayer> {
	if (!/\.json$/i.test(file)) return readPolicyFile(file);
	const { value } = readTextDocument(decodeText(await readRegularFile(file, mostBytes), file), file);
	return checkPolicyLayer(value, file);
}

type PolicyName =
	| { readonly kind: "file"; readonly file: string }
	| {
			readonly kind: "named";
			readonly masking: Masking;
			readonly arrival: Arrival | undefined;
			/** Whether lines that are in view are left out, although nothing else says so. */
			readonly repeats: boolean;
	  };

/** Windows and strides are in tool turns. */
type Masking =
	| { readonly kind: "raw" }
	| { readonly kind: "window" | "break_even"; readonly window: number }
	| { readonly kind: "stride"; readonly stride: number; readonly window: number }
	| {
			readonly kind: "preset";
			readonly preset: PresetName;
			readonly thrift: MaskPolicy["thrift"] | undefined;
			readonly isByProvider: boolean;
	  }
	| { readonly kind: "rival"; readonly rival: Rival; readonly isOurPlaceholder: boolean }
	| { readonly kind: "compaction"; readonly compaction: ReplayedCompaction };

/** Results over so many characters are cut to them as they arrive. */
type Arrival =
	| { readonly kind: "whole" }
	| { readonly kind: "arrival"; readonly most: number; readonly ofCommands: number }
	| { readonly kind: "head_tail"; readonly most: number };

const thrifts = ["low", "medium", "high"] as const;
const withNumber = ["window", "stride", "break_even"] as const;
const rivalNames = ["clear", "clear-ours", "last", "opencode", "gemini-cli"] as const;
const names: readonly string[] = [
	"raw",
	"whole",
	"repeats",
	"arrival",
	"head_tail",
	"compact",
	...withNumber,
	...rivalNames,
	...presetNames,
];
const windowOfStride = 8;
const mostTurns = 1_000_000;

/** `ARRIVAL`, `MASKING` or `ARRIVAL+MASKING`, each also behind `repeats+`. Throws PalimpsestError `invalid_argument` with the nearest name. */
function parsePolicyName(text: string): PolicyName {
	if (/[\\/]|\.(?:toml|json)$/i.test(text)) return { kind: "file", file: text };
	const parts = text.split("+");
	const repeats = parts[0] === "repeats";
	if (repeats) parts.shift();
	const first = arrivalOf(parts[0] ?? "", text);
	if (first) parts.shift();
	// With `repeats+` a preset cuts nothing but what is named.
	const arrival = first ?? (repeats ? ({ kind: "whole" } as const) : undefined);
	if (arrival && parts.length === 0) return { kind: "named", masking: { kind: "raw" }, arrival, repeats };
	return { kind: "named", masking: maskingOf(parts.join("+")), arrival, repeats };
}

function arrivalOf(part: string, text: string): Arrival | undefined {
	const [name, ...parameters] = part.split(":");
	if (name === "whole" && parameters.length === 0) return { kind: "whole" };
	if (name !== "arrival" && name !== "head_tail") return undefined;
	const numbers = parameters.map((one) => (/^\d{1,9}$/.test(one) ? Number(one) : 0));
	const [most, ofCommands = most] = numbers;
	if (
		most === undefined ||
		ofCommands === undefined ||
		numbers.includes(0) ||
		numbers.length > (name === "arrival" ? 2 : 1)
	) {
		const expected =
			name === "arrival"
				? "the characters that stay of a result, and those of what a command prints, as in arrival:16000:4000"
				: "the characters that stay of a result, as in head_tail:16000";
		throw unusable(text, `expected after ${name} ${expected}`);
	}
	return name === "arrival" ? { kind: name, most, ofCommands } : { kind: name, most };
}

/** A stride has a window of 8 turns unless named. */
function maskingOf(text: string): Masking {
	const [name = "", ...parameters] = text.split(":");
	const numbered = withNumber.find((one) => one === name);
	if (numbered) return numberedPolicy(numbered, parameters, text);
	const preset = presetNames.find((one) => one === name);
	if (preset) return presetPolicy(preset, parameters, text);
	const rival = rivalNames.find((one) => one === name);
	if (rival)
		return { kind: "rival", rival: rivalOf(rival, parameters, text), isOurPlaceholder: rival === "clear-ours" };
	if (name === "compact") return { kind: "compaction", compaction: compactionOf(parameters, text) };
	if (name === "raw" && parameters.length === 0) return { kind: "raw" };
	if (name === "raw") throw unusable(text, "raw masks nothing, and takes no number");
	const near = nearestName(name, names);
	const meant = near === null ? "" : ` Did you mean ${[near, ...parameters].join(":")}?`;
	const message = `Unknown policy ${shown(text)}.${meant} Known: raw, window:N, stride:N, break_even:N, clear:TRIGGER:KEEP:AT_LEAST, clear-ours:…, last:N:EVERY, opencode, gemini-cli, ${presetNames.join(", ")}, balanced:provider, compact:…, arrival:N, head_tail:N, whole, repeats, or a file's path.`;
	throw new PalimpsestError("invalid_argument", message);
}

function numberedPolicy(kind: (typeof withNumber)[number], parameters: readonly string[], text: string): Masking {
	const most = kind === "stride" ? 2 : 1;
	const numbers = parameters.map((one) => (/^\d{1,7}$/.test(one) ? Number(one) : 0));
	const [first] = numbers;
	if (first === undefined || numbers.length > most || numbers.some((one) => one < 1 || one > mostTurns)) {
		const example = kind === "stride" ? "stride:10, or stride:10:5 for a window of 5" : `${kind}:8`;
		throw unusable(text, `expected a number of tool turns, 1 or more, after ${kind}, as in ${example}`);
	}
	if (kind === "stride") return { kind, stride: first, window: numbers[1] ?? windowOfStride };
	return { kind, window: first };
}

function rivalOf(name: (typeof rivalNames)[number], parameters: readonly string[], text: string): Rival {
	const numbers = parameters.map((one) => (/^\d{1,7}$/.test(one) ? Number(one) : Number.NaN));
	const areNumbers = numbers.every((one) => !Number.isNaN(one));
	const [first = 0, second = 0, third = 0] = numbers;
	switch (name) {
		case "clear":
		case "clear-ours": {
			if (numbers.length === 3 && areNumbers) return { kind: "clear", trigger: first, keep: second, atLeast: third };
			const meaning = "the tokens of the context, the results that stay and the least tokens to free";
			throw unusable(text, `expected three numbers after ${name}, ${meaning}, as in ${name}:30000:3:5000`);
		}
		case "last": {
			if (numbers.length === 2 && areNumbers && second > 0) return { kind: "last", keep: first, every: second };
			const meaning = "the results that stay and how many results there are from one masking to the next";
			throw unusable(text, `expected two numbers after last, ${meaning}, as in last:5:10`);
		}
		case "opencode":
		case "gemini-cli":
			if (numbers.length > 0) throw unusable(text, `${name} takes no number`);
			return { kind: name };
	}
}

/** What a summary holds, and the calls that stay behind it, unless they are named. */
const usualCompaction = { summary: 2_000, keep: 5 };

function compactionOf([by, ...parameters]: readonly string[], text: string): ReplayedCompaction {
	const numbers = parameters.map((one) => (/^\d{1,7}$/.test(one) ? Number(one) : 0));
	const isKnown = by === "provider" || by === "summary";
	if (!isKnown || numbers.length > 3 || numbers.includes(0)) {
		const meaning = "the tokens of a prompt at which it acts, those of a summary and the calls that stay";
		throw unusable(
			text,
			`expected provider or summary after compact, and then ${meaning}, as in compact:provider:160000:2000:5`,
		);
	}
	const [trigger, summary = usualCompaction.summary, keep = usualCompaction.keep] = numbers;
	return { by, trigger, summary, keep };
}

function presetPolicy(preset: PresetName, parameters: readonly string[], text: string): Masking {
	if (preset !== "balanced" && parameters.length > 0)
		throw unusable(text, `the preset ${preset} takes nothing after it`);
	const isByProvider = parameters.at(-1) === "provider";
	const rest = isByProvider ? parameters.slice(0, -1) : parameters;
	const thrift = thrifts.find((one) => one === rest[0]);
	if (rest.length > 1 || (rest.length === 1 && !thrift))
		throw unusable(
			text,
			`expected ${thrifts.join(", ")} after balanced, and provider at the end if the provider clears`,
		);
	return { kind: "preset", preset, thrift, isByProvider };
}

function unusable(text: string, why: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", `Policy ${shown(text)} cannot be used: ${why}.`);
}

function shown(text: string): string {
	return JSON.stringify(text.slice(0, 80));
}
