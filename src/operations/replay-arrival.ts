import { applyPlan } from "../engine/conversation/apply.ts";
import { groupBy, once } from "../engine/conversation/lists.ts";
import { equalsPath, type Path } from "../engine/conversation/paths.ts";
import { noSize, type ReplaceEdit } from "../engine/conversation/plan.ts";
import {
	editablePaths,
	resultText,
	type TextNode,
	type ToolResult,
	type Transcript,
	withoutFrame,
} from "../engine/conversation/transcript.ts";
import { type PairedResult, pairResults } from "../engine/conversation/turns.ts";
import type { CutOnArrival } from "../engine/masking/history.ts";
import { findUses, stringsIn, type Uses } from "../engine/masking/uses.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { wordings } from "../engine/policy/wordings.ts";
import type { ArrivalLimit } from "../engine/truncation/arrival-limit.ts";
import { leaveOutRepeats, startRepeatFinder } from "../engine/truncation/repeats.ts";
import { locateMessages, type ReadConversation } from "../formats/detect.ts";
import { isReferenceLine, placeholdersOf } from "../storage/restore/recognise.ts";
import { planCuts } from "./cut-on-arrival.ts";
import { mayRepeat, nameOfResult, repeatedTexts, withText } from "./repeats-on-arrival.ts";

/** A conversation whose results were cut as they arrived. */
export interface Arrived {
	/** Everything that the cuts depend on. */
	readonly key: string;
	readonly transcript: Transcript;
	readonly uses: () => Uses;
	readonly hides: CutOnArrival["hides"];
	/** Lines that are left out, and where they stand. */
	readonly repeats: readonly LeftOutLines[];
}

/** Characters that no result has. */
const unlimited = 1_000_000_000;

/** Cuts no result as it arrives. */
export const arrivesWhole = { max_chars: unlimited, command_chars: null, repeats: false } as const;

/**
 * Cuts the results of a conversation as they arrive, as the proxy does under a policy or another limit, and leaves
 * out lines that are in view: once for all policies that do so alike. Returns `undefined` if all are sent whole.
 */
export function startArrivals(
	source: ReadConversation,
	limitOf?: ArrivalLimit,
): (policy: Policy) => Arrived | undefined {
	const { document, format, transcript } = source;
	const paired = pairResults(transcript);
	const known = new Map<string, Arrived | undefined>();
	const arriving = (key: string, policy: Policy): Arrived | undefined => {
		const how = {
			transcript,
			policy,
			wording: wordings(policy, "archived"),
			isPlaceholder: placeholdersOf(policy),
			// A replay archives nothing; the notice is as long as with any reference.
			archiving: { refOf: () => "0".repeat(12), jsonAt: () => "" },
			limitOf,
		};
		const cuts = planCuts({ ...how, fresh: paired });
		const { plan, repeats } = policy.truncate.repeats ? leaveOutInOrder(cuts, how) : { plan: cuts, repeats: [] };
		if (plan.length === 0) return undefined;
		const sent = format.read(locateMessages(applyPlan(document, plan)));
		return {
			key,
			transcript: sent,
			uses: once(() => findUses(sent)),
			hides: hiding(paired, pairResults(sent), repeats),
			repeats,
		};
	};

	/** Each result as it is sent after all before it, cut where what is left of it is over its limit. */
	function leaveOutInOrder(cuts: readonly ReplaceEdit[], how: Omit<Parameters<typeof planCuts>[0], "fresh">) {
		const { policy, wording } = how;
		const byMessage = groupBy(cuts, ({ message }) => message);
		const finder = startRepeatFinder(isReferenceLine);
		const texts: string[] = [];
		const plan: ReplaceEdit[] = [];
		const repeats: LeftOutLines[] = [];
		for (const [place, one] of paired.entries()) {
			const own = (byMessage.get(one.message) ?? []).filter(({ path }) => isOf(path, one.result));
			const whole = resultText(one.result);
			const found = mayRepeat(one, transcript, policy) ? finder.find(whole, (number) => texts[number] as string) : [];
			let shown = textAfter(own, one, whole);
			if (found.length === 0) plan.push(...own);
			else {
				const nameOf = (source: number) => nameOfResult(paired[source] as PairedResult, transcript, wording);
				const text = leaveOutRepeats(whole, found, { wording: wording.repeats, nameOf, ref: "0".repeat(12) });
				const [node] = one.result.texts as [TextNode];
				const left: PairedResult = { ...one, result: { ...one.result, texts: [{ ...node, text }] } };
				const edits = planCuts({ ...how, transcript: withResult(transcript, one, left.result), fresh: [left] });
				shown = textAfter(edits, left, text);
				plan.push(
					...(edits.length > 0 ? edits : withText(one, text, { before: noSize, after: noSize, takenOut: undefined })),
				);
				const repeated = repeatedTexts(whole, found);
				for (const [index, { source }] of found.entries())
					repeats.push({ place, source, text: repeated[index] as string });
			}
			texts.push(shown);
			finder.add(shown);
		}
		return { plan, repeats };
	}

	return (policy) => {
		const key = JSON.stringify([policy.locale, policy.truncate, policy.mask.thrift]);
		if (!known.has(key)) known.set(key, arriving(key, policy));
		return known.get(key);
	};
}

interface LeftOutLines {
	readonly place: number;
	readonly source: number;
	readonly text: string;
}

function isOf(path: Path, result: ToolResult): boolean {
	return editablePaths(result).some((one) => equalsPath(one, path));
}

/** The text of a result after its edits. A text that cannot be read again is no source. */
function textAfter(edits: readonly ReplaceEdit[], { result }: PairedResult, text: string): string {
	const [node, ...others] = result.texts;
	const edit = edits.find(({ unsent }) => !unsent);
	if (!edit) return text;
	if (!node || others.length > 0 || typeof edit.replacement !== "string") return "";
	return equalsPath(edit.path, node.path) ? (withoutFrame(node, edit.replacement) ?? "") : edit.replacement;
}

function withResult(transcript: Transcript, { message }: PairedResult, result: ToolResult): Transcript {
	const messages = transcript.messages.map((one, index) => (index === message ? { ...one, results: [result] } : one));
	return { ...transcript, messages };
}

/** What is left out of a result since it is in view is hidden by no cut. */
function hiding(
	whole: readonly PairedResult[],
	cut: readonly PairedResult[],
	repeats: readonly LeftOutLines[],
): CutOnArrival["hides"] {
	const inView = groupBy(repeats, ({ place }) => place);
	const textAt = (paired: readonly PairedResult[], place: number) => resultText((paired[place] as PairedResult).result);
	const left = cut.map((_, place) => {
		const text = textAt(cut, place);
		const elsewhere = (inView.get(place) ?? []).map((one) => one.text);
		return text === textAt(whole, place) ? undefined : once(() => stringsIn([text, ...elsewhere].join("\n")));
	});
	return (place, kind, text) => left[place]?.()[kind].has(text) === false;
}
