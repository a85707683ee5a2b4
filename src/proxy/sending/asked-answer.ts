import type { PairedResult } from "../../engine/conversation/turns.ts";
import type { AskedCall, askedResults } from "../../engine/masking/asked.ts";
import { callsInView } from "../../engine/masking/in-use.ts";
import { cleanValue } from "../../engine/masking/placeholder.ts";
import { windowTable } from "../../operations/report-text.ts";
import { counted, type PartShare, priceStepWords, share, whole } from "../../operations/window-words.ts";

/** A result as it was last sent, in tokens of the provider. */
export interface ShownResult {
	readonly tokens: number;
	/** Freed if it is masked. */
	readonly saves: number;
	readonly isGone: boolean;
	/** Freed by the decision on it; 0 without one. */
	readonly frees: number;
	readonly ref: () => string | undefined;
}

interface AskedConversation {
	readonly paired: readonly PairedResult[];
	readonly results: readonly ShownResult[];
	/** What fills the window, with the tokens that masking frees of the result at a place. */
	readonly partsOf: (frees: (place: number) => number) => readonly PartShare[];
	/** Tokens of the request. */
	readonly tokens: number;
	readonly window: number | undefined;
	/** Price steps of the model. */
	readonly steps: readonly number[];
	/** Whether the provider clears results. */
	readonly clears: boolean;
	readonly isOff: boolean;
	readonly isArchived: boolean;
	/** The tool or the command that reads an original. */
	readonly recalledBy: string | undefined;
	readonly choose: (call: AskedCall) => ReturnType<typeof askedResults>;
}

/** The answer to a call that asks for something in its own conversation. Of the conversation it has names, references and figures. */
export function writeAskedAnswer(call: AskedCall, about: AskedConversation): string {
	if (call.kind === "state") return stateAnswer(call, about);
	const chosen = about.choose(call);
	const unknown =
		chosen.unknown > 0 ? `${counted(chosen.unknown, "reference or id", "references or ids")} not found here.` : "";
	const words = call.kind === "keep" ? keepAnswer(chosen.places, about) : maskAnswer(chosen, about);
	return [...words, ...(unknown ? [unknown] : [])].join(" ");
}

function maskAnswer({ places, kept }: ReturnType<typeof askedResults>, about: AskedConversation): string[] {
	const { results, isOff, clears, isArchived, recalledBy } = about;
	if (isOff) return ["No result masked: the policy of this user turns masking off."];
	const gone = places.filter((place) => results[place]?.isGone);
	const masked = clears ? Array.from(results.keys()).filter((place) => results[place]?.frees) : places;
	const freed = masked.filter((place) => results[place]?.frees);
	const tokens = freed.reduce((sum, place) => sum + (results[place]?.frees ?? 0), 0);
	const again = isArchived
		? `each can be read again with ${howToRead(recalledBy)}`
		: "none is archived, so none can be read again";
	const by = clears ? "cleared by the provider, oldest first," : "masked";
	const short = places.length - gone.length - places.filter((place) => results[place]?.frees).length;
	return [
		freed.length > 0
			? `${counted(freed.length, "result")} ${by} from the next request on, ${whole(tokens)} tokens; ${again}.`
			: "No result masked.",
		...(gone.length > 0 ? [`${counted(gone.length, "result was", "results were")} masked before.`] : []),
		...(short > 0 ? [`${counted(short, "result is", "results are")} too short to mask.`] : []),
		...(kept > 0
			? [
					`${counted(kept, "error, answer of a person or skill", "errors, answers of people or skills")} not masked: name ${kept === 1 ? "it" : "them"} by refs or tools.`,
				]
			: []),
	];
}

function howToRead(recalledBy: string | undefined): string {
	return recalledBy?.replace("{ref}", "REF") ?? "its reference";
}

function keepAnswer(places: readonly number[], { results, clears, recalledBy }: AskedConversation): string[] {
	if (clears) return ["The provider clears results of this conversation, oldest first, so none is kept."];
	const gone = places.filter((place) => results[place]?.isGone);
	const stay = places.length - gone.length;
	return [
		`${counted(stay, "result stays", "results stay")} in view for the next ${callsInView} answers.`,
		...(gone.length > 0
			? [
					`${counted(gone.length, "result is", "results are")} masked already: read ${gone.length === 1 ? "it" : "them"} again with ${howToRead(recalledBy)}.`,
				]
			: []),
	];
}

const mostResults = 12;
/** Shorter results are not named. */
const leastNamedTokens = 300;
const linesOfTable = 18;

function stateAnswer(call: AskedCall, about: AskedConversation): string {
	const { paired, results, partsOf, tokens, window, steps, clears, isOff } = about;
	const shown = results.map((result, place) => ({ ...result, tool: toolOf(paired[place]) }));
	const inView = shown.filter(({ isGone }) => !isGone);
	const largest = inView
		.filter((one) => one.tokens >= leastNamedTokens && one.saves > 0)
		.sort((a, b) => b.tokens - a.tokens)
		.slice(0, mostResults);
	const old = new Set(about.choose({ ...call, kind: "mask" }).places);
	const frees = (place: number) => (old.has(place) && !results[place]?.isGone ? (results[place]?.saves ?? 0) : 0);
	const freed = Array.from(results.keys(), frees).reduce((sum, one) => sum + one, 0);
	const step = priceStepWords(tokens, steps);
	const gone = shown.length - inView.length;
	const table = { by_part: partsOf(isOff ? () => 0 : frees), tokens, unrecorded_tokens: null };
	return [
		`This conversation has ${whole(tokens)} tokens${window === undefined ? "; the window of its model is not known." : `, ${share(tokens / window)} of a window of ${whole(window)}.`}`,
		...(step === undefined ? [] : [step]),
		windowTable(table, { columns: 80, bars: "none", rows: linesOfTable }),
		...(largest.length > 0
			? [
					"The largest results, with the references that mask_conversation takes as refs:",
					...largest.map((one) => `${one.ref() ?? "no reference"} ${one.tool} ${whole(one.tokens)}`),
				]
			: []),
		...(gone > 0 ? [`${counted(gone, "result is", "results are")} masked already.`] : []),
		isOff
			? "The policy turns masking off."
			: `Calling mask_conversation without messages and path ${clears ? "has the provider clear" : "masks"} the old results and frees ${whole(freed)} tokens (${share(freed / tokens)}).`,
	].join("\n");
}

function toolOf(paired: PairedResult | undefined): string {
	return cleanValue(paired?.call?.name ?? "unknown");
}
