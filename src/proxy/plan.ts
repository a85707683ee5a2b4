import type { Archive } from "../archive/archive.ts";
import { applyPlan, equalsJson } from "../conversation/apply.ts";
import { type CountTokens, measure, sizeOf } from "../conversation/measure.ts";
import { type ReplaceEdit, startDraft } from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import { jsonPointer, type Message, type TextNode, type Transcript, withoutFrame } from "../conversation/transcript.ts";
import { type PairedResult, pairResults } from "../conversation/turns.ts";
import { locateMessages } from "../formats/detect.ts";
import { type ReplayHistory, readHistory } from "../masking/history.ts";
import { planMask, replayMasking } from "../masking/mask.ts";
import { type MaskResultParameters, maskResult } from "../masking/mask-result.ts";
import type { Schedule } from "../masking/replay.ts";
import type { openConversation } from "../operations/conversation.ts";
import { shortenedRef } from "../operations/find-original.ts";
import type { Policy, Prices } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { type KnownCuts, planCuts } from "./cut-on-arrival.ts";
import { messageKey, resultKeys } from "./identity.ts";
import type { Decisions, Memory, Remembered } from "./memory.ts";

/** A result that a request no longer holds as it was. Names and ids are untrusted. */
export interface EditedResult {
	readonly key: string;
	readonly reason: "masked" | "cut";
	readonly toolName: string | undefined;
	readonly ref: string | undefined;
	readonly tokensBefore: number;
	readonly tokensAfter: number;
}

/**
 * Plans which results of a request are masked and which are cut. Results that were masked before stay masked, by the same
 * bytes; the replay decides on the others. `decisions` are to be remembered.
 */
export async function planEdits(what: {
	readonly opened: Awaited<ReturnType<typeof openConversation>>;
	readonly body: unknown;
	readonly conversation: string;
	readonly remembered: Remembered;
	/** How the agent reads an original. */
	readonly recall: { readonly by: string } | undefined;
	/** Whether the provider's cache has expired, so that masking is free. */
	readonly isCold: boolean;
	readonly prices: Prices;
	readonly policy: Policy;
	readonly memory: Memory;
	readonly archive: Archive | undefined;
	/** The cuts of this process, to which it adds. */
	readonly cuts: KnownCuts;
}) {
	const { opened, body, conversation, remembered, recall, isCold, prices, policy, memory, archive } = what;
	const { transcript, source, meter, wording } = opened;
	const { countTokens } = meter;
	const paired = pairResults(transcript);
	const keys = resultKeys(transcript, conversation);
	const archiving = opened.archiving && (await namingWholes(opened.archiving, paired, archive));
	const cuts = planCuts({
		transcript,
		policy,
		wording,
		countTokens,
		isPlaceholder: opened.isPlaceholder,
		archiving,
		keys,
		known: what.cuts,
	});

	const { messages } = transcript;
	const pauseHere = isCold ? messageKey(messages.at(-1) as Message) : undefined;
	const pauses = new Set(pauseHere === undefined ? remembered.pauses : [...remembered.pauses, pauseHere]);
	const coldAt = new Set<number>();
	for (const [index, message] of pauses.size > 0 ? messages.entries() : []) {
		if (pauses.has(messageKey(message))) coldAt.add(index + 1);
	}

	const maskingOf = (one: Transcript) => ({
		...opened,
		wording: { ...wording, ...withoutHint(policy, archive) },
		transcript: one,
		policy: policy.mask,
		media: policy.media,
		countTokens,
		archiving,
		replaying: { meter, prices, coldAt },
	});
	const readWith = (edits: readonly ReplaceEdit[]): Transcript =>
		edits.length === 0 ? transcript : source.format.read(locateMessages(applyPlan(body, edits)));

	// Masking is decided on the results as they were sent: cut.
	const shown = readWith(cuts);
	const first = replayMasking(maskingOf(shown));
	const history = shown === transcript ? first.history : readHistory({ ...maskingOf(transcript), meter });
	const before = maskedBefore(keys, paired, { remembered, memory, transcript });
	let schedule = first.schedule;
	if ([...before.keys()].some((place) => schedule[place] === Number.POSITIVE_INFINITY)) {
		// The host has rewritten its history, so that the replay comes to other decisions. What was masked stays so, and the
		// replay decides on the rest, in a history that holds the placeholders.
		const places = Float64Array.from(history.results, (_, place) =>
			before.has(place) ? messages.length : Number.POSITIVE_INFINITY,
		);
		const { edits } = planMask(maskingOf(transcript), { history, schedule: places });
		const covered = edits.map(({ path }) => jsonPointer(path));
		const others = cuts.filter(({ path }) => !covered.some((one) => jsonPointer(path).startsWith(one)));
		const again = replayMasking(maskingOf(readWith([...others, ...edits])));
		schedule = places.map((moment, place) => Math.min(moment, again.schedule[place] as number));
	}
	const { edits: masks, momentOf } = planMask(maskingOf(transcript), {
		history,
		schedule: unlessUnread(schedule, history),
	});

	const placeOf = new Map<string, number>();
	history.results.forEach(({ outcome }, place) => {
		if (typeof outcome !== "string") for (const { path } of outcome) placeOf.set(jsonPointer(path), place);
	});
	const draft = startDraft(measure(transcript, meter).messages);
	for (const cut of cuts) draft.add(cut);
	const masked = new Map<string, unknown>();
	const results: EditedResult[] = [];
	// One hint in a request is enough, in the placeholder that was written first.
	let needsHint = recall !== undefined && !hasHint(before.values(), recall.by);
	for (const mask of masks) {
		const place = placeOf.get(jsonPointer(mask.path)) as number;
		const key = keys[place] as string;
		const known = before.get(place);
		// A copy that opencode stores beside the result.
		if (mask.unsent) {
			draft.add(mask);
			continue;
		}
		const fresh = needsHint ? hinted(mask, paired[place] as PairedResult, { ...maskingOf(transcript), wording }) : mask;
		const edit =
			known === undefined ? fresh : withReplacement(mask, known, { countTokens, node: paired[place]?.result.texts[0] });
		if (!draft.add(edit)) continue;
		if (known === undefined) needsHint = false;
		if (known === undefined || !remembered.masked.has(key)) masked.set(key, edit.replacement);
	}
	for (const edit of draft.plan()) {
		if (edit.kind !== "replace") continue;
		const key = keys[placeOf.get(jsonPointer(edit.path)) ?? -1] ?? jsonPointer(edit.path);
		const { toolName } = edit.result ?? {};
		const [tokensBefore, tokensAfter] = [edit.before.tokens, edit.after.tokens];
		const reason = edit.reason === "mask" ? "masked" : "cut";
		results.push({ key, reason, toolName, ref: edit.takenOut?.ref, tokensBefore, tokensAfter });
	}
	const decisions: Decisions = {
		...(masked.size > 0 ? { masked } : {}),
		...(pauseHere === undefined ? {} : { pause: pauseHere }),
	};
	return { plan: draft.plan(), momentOf, results, decisions };
}

/** The wordings of a placeholder that only names its original. */
function withoutHint(policy: Policy, archive: Archive | undefined) {
	const { placeholder, digestPlaceholder } = wordings(policy, archive ? "archived" : "not_archived");
	return { placeholder, digestPlaceholder };
}

function hasHint(replacements: Iterable<unknown>, by: string): boolean {
	const mark = by.replace(/ ?\{ref\}/, "").replaceAll("`", "");
	return Array.from(replacements).some((replacement) =>
		JSON.stringify(replacement).includes(JSON.stringify(mark).slice(1, -1)),
	);
}

/** The same edit with the hint, if the placeholder is then still shorter than the result. */
function hinted(edit: ReplaceEdit, paired: PairedResult, how: MaskResultParameters): ReplaceEdit {
	const edits = maskResult(paired, { ...how, isError: () => false });
	const at = jsonPointer(edit.path);
	return (typeof edits === "string" ? undefined : edits.find(({ path }) => jsonPointer(path) === at)) ?? edit;
}

/** A result that no answer follows was never read. */
function unlessUnread(schedule: Schedule, { results, calls }: ReplayHistory): Schedule {
	const lastCall = calls.at(-1) ?? -1;
	return Float64Array.from(results, ({ message }, place) =>
		message > lastCall ? Number.POSITIVE_INFINITY : (schedule[place] as number),
	);
}

/** By place, the values that stand in the places of results since they were masked. */
function maskedBefore(
	keys: readonly string[],
	paired: readonly PairedResult[],
	known: { readonly remembered: Remembered; readonly memory: Memory; readonly transcript: Transcript },
): Map<number, unknown> {
	const { remembered, memory, transcript } = known;
	const lastAnswer = transcript.messages.findLastIndex(({ role }) => role === "assistant");
	const before = new Map<number, unknown>();
	keys.forEach((key, place) => {
		if ((paired[place] as PairedResult).message > lastAnswer) return;
		const replacement = remembered.masked.get(key) ?? memory.maskedAnywhere(key);
		if (replacement !== undefined) before.set(place, replacement);
	});
	return before;
}

function withReplacement(
	edit: ReplaceEdit,
	replacement: unknown,
	{ countTokens, node }: { readonly countTokens: CountTokens; readonly node: TextNode | undefined },
): ReplaceEdit {
	if (equalsJson(replacement, edit.replacement)) return edit;
	const text = textIn(replacement, edit.replacement);
	const inner = node && withoutFrame(node, text);
	return { ...edit, replacement, after: sizeOf(inner ?? text, countTokens) };
}

/** The text of a replacement, which may stand in a part of a list: there it differs from another replacement. */
function textIn(replacement: unknown, other: unknown): string {
	if (typeof replacement === "string") return replacement;
	const at = (value: unknown, key: string) => (value as Readonly<Record<string, unknown>> | null | undefined)?.[key];
	const keys = typeof replacement === "object" && replacement !== null ? Object.keys(replacement) : [];
	const key = keys.find((one) => !equalsJson(at(replacement, one), at(other, one)));
	return key === undefined ? JSON.stringify(replacement) : textIn(at(replacement, key), at(other, key));
}

/** A result that a hook had shortened is masked under the reference of the whole. */
async function namingWholes(
	archiving: Archiving,
	paired: readonly PairedResult[],
	archive: Archive | undefined,
): Promise<Archiving> {
	const wholes = new Map<string, string>();
	for (const { result } of paired) {
		const [only, ...others] = result.texts;
		const ref = only && others.length === 0 ? shortenedRef(only.text) : undefined;
		if (only && ref !== undefined && (await archive?.has(ref))) wholes.set(only.text, ref);
	}
	if (wholes.size === 0) return archiving;
	return { ...archiving, refOf: (text) => wholes.get(text) ?? archiving.refOf(text) };
}
