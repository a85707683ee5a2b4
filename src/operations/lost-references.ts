import type { CountTokens } from "../engine/conversation/measure.ts";
import { jsonPointer } from "../engine/conversation/paths.ts";
import { type Plan, type ReplaceEdit, takesMessageOut } from "../engine/conversation/plan.ts";
import type { Archiving } from "../engine/conversation/report.ts";
import { editablePaths, resultText, type Transcript } from "../engine/conversation/transcript.ts";
import { type PairedResult, pairResults } from "../engine/conversation/turns.ts";
import { maskResult } from "../engine/masking/mask-result.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { type Originals, wordings } from "../engine/policy/wordings.ts";
import { referencesIn } from "../storage/restore/recognise.ts";
import { nameOfResult } from "./repeats-on-arrival.ts";

/**
 * Also masks each result of which lines point to a result that the plan takes out or changes, or that is not there: an edited
 * conversation came back. Its placeholder names the text with the line, and that line names the whole.
 */
export function withLostReferences(
	plan: Plan,
	what: {
		readonly transcript: Transcript;
		readonly policy: Policy;
		readonly originals: Originals;
		readonly isPlaceholder: (text: string) => boolean;
		readonly countTokens: CountTokens;
		readonly archiving: Archiving | undefined;
	},
): Plan {
	const { transcript, policy, originals } = what;
	const hasLines = ({ results }: Transcript["messages"][number]) =>
		results.some((result) => referencesIn(resultText(result)).length > 0);
	if (!transcript.messages.some(hasLines)) return plan;
	const { mask } = policy;
	const short = { ...mask, placeholder: "short", placeholder_template: null, keep_errors: false } as const;
	const wording = wordings({ ...policy, mask: short }, originals);
	const paired = pairResults(transcript);
	const named = paired.map((one, place) => [nameOfResult(one, transcript, wording), place] as const);
	const placeOf = new Map(named.toReversed());
	const gone = new Set(plan.filter(takesMessageOut).map(({ message }) => message));
	const changed = new Set(plan.map(({ path }) => jsonPointer(path)));
	const pointersOf = ({ result }: PairedResult) => editablePaths(result).map(jsonPointer);
	const isMasked = new Set(plan.flatMap(({ reason, path }) => (reason === "mask" ? [jsonPointer(path)] : [])));
	const stands = (source: string, sourceTo: number, before: number) => {
		const place = placeOf.get(source);
		const one = place === undefined || place >= before ? undefined : paired[place];
		if (!one || gone.has(one.message) || pointersOf(one).some((pointer) => changed.has(pointer))) return false;
		return resultText(one.result).split("\n").length >= sourceTo;
	};
	const masks: ReplaceEdit[] = [];
	const replaced = new Set<string>();
	// In order: what points to a result that is masked here is masked as well.
	for (const [place, one] of paired.entries()) {
		const pointers = pointersOf(one);
		if (gone.has(one.message) || pointers.some((pointer) => isMasked.has(pointer))) continue;
		const references = referencesIn(resultText(one.result));
		if (references.every(({ source, sourceTo }) => stands(source, sourceTo, place))) continue;
		const masked = maskResult(one, { ...what, policy: short, media: "keep", wording });
		if (typeof masked === "string") continue;
		masks.push(...masked);
		for (const pointer of pointers) {
			changed.add(pointer);
			replaced.add(pointer);
		}
	}
	if (masks.length === 0) return plan;
	const kept = plan.filter(({ path }) => !replaced.has(jsonPointer(path)));
	return [...kept, ...masks].sort((one, other) => one.message - other.message);
}
