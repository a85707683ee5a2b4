import { keepWithin, markWhole, shortenWords, wordsWithin, writeWords } from "../compaction/kept-words.ts";
import { joinedSummaries, planSummary, type SummaryPlace, summaryOfMessage } from "../compaction/summary.ts";
import { answersToTools, usersTexts } from "../compaction/users-words.ts";
import type { MessageWriter } from "../conversation/apply.ts";
import type { TokenMeter } from "../conversation/measure.ts";
import type { Path } from "../conversation/paths.ts";
import {
	addSizes,
	type Edit,
	noSize,
	type Size,
	savedSize,
	subtractSizes,
	takesMessageOut,
} from "../conversation/plan.ts";
import type { Transcript } from "../conversation/transcript.ts";
import type { LocaleName } from "../policy/names.ts";
import { type DropParameters, planDrop } from "./drop.ts";
import type { FurtherCuts } from "./further-cuts.ts";

/** Keeps the words of people in a conversation whose messages are dropped. */
export interface WordsKeeper {
	readonly document: unknown;
	readonly base: Path;
	readonly writer: MessageWriter;
	readonly locale: LocaleName;
	/** Tokens over which texts are cut. */
	readonly most: number;
}

type Parameters = Omit<DropParameters, "fits" | "held"> & {
	readonly excess: (context: Size) => number;
	readonly meter: TokenMeter;
	/** Sizes of the conversation with the edits of earlier steps and these cuts, and of its messages. */
	readonly editedWith: (cuts: FurtherCuts) => { readonly left: Size; readonly sizes: readonly Size[] };
	readonly keeping: WordsKeeper | undefined;
	readonly isPlaceholder: (text: string) => boolean;
};

/** How often it is dropped once more because the words took more room than expected. */
const attempts = 6;

/** Drops groups, and moves the words of people in them, and in earlier drops, to one place. */
export function planDropWithWords(parameters: Parameters): DroppedWithWords {
	const { transcript, keeping, excess, editedWith, hysteresis } = parameters;
	if (!keeping) return planDrop({ ...parameters, fits: (context) => excess(context) === 0 });
	const answers = answersToTools(transcript, parameters.isPlaceholder);
	// Words of an earlier drop are at the end of a message.
	const written = usersTexts({ ...keeping, transcript }).map((own, message) => [...(answers[message] ?? []), ...own]);
	// A skill or a file in a message would leave no room for anything else.
	const isHuge = (tokens: number) =>
		parameters.dropsOversized !== undefined && excess({ chars: 0, tokens: 2 * tokens }) > 0;
	const words = written.map((texts) =>
		texts.map((text) => {
			const { countTokens } = parameters.meter;
			if (!isHuge(countTokens(text))) return text;
			return shortenWords(text, keeping.locale, (shorter) => countTokens(shorter) <= keeping.most);
		}),
	);
	const isCut = ({ message }: Edit) => words[message]?.some((text, nth) => text !== written[message]?.[nth]) ?? false;
	const held = heldTokens(words, parameters, keeping);
	let room = 0;
	for (let attempt = 1; ; attempt += 1) {
		const withWords = (context: Size): Size => ({ ...context, tokens: context.tokens + room });
		const dropped = planDrop({
			...parameters,
			held,
			fits: (context) => excess(withWords(context)) === 0,
			...(hysteresis && {
				hysteresis: { ...hysteresis, reachesTarget: (context) => hysteresis.reachesTarget(withWords(context)) },
			}),
		});
		const moved = moveWords(dropped.edits, words, { ...parameters, keeping });
		const { left, sizes } = editedWith(dropped.cuts);
		const saved = savedSize(moved.edits);
		const missing = excess(subtractSizes(left, subtractSizes(saved, savedBefore(moved.edits, parameters, sizes))));
		const edits = saves(saved) ? moved.edits : [];
		const planned = { ...dropped, edits, areWordsCut: edits.some(isCut) };
		if (missing === 0) return planned;
		if (attempt === attempts) {
			const cutWords: DroppedWithWords["cutWords"] = (missingOf) =>
				cutMovedWords(dropped.edits, words, { ...parameters, keeping, moved, missingOf });
			return { ...planned, cutWords };
		}
		// The tokens of the words are estimated, and groups are coarse: each attempt leaves more room.
		room = 2 * room + missing + 32;
	}
}

type DroppedWithWords = ReturnType<typeof planDrop> & {
	/** Whether a text of a person takes so much room that only a part of it stays. */
	readonly areWordsCut?: boolean;
	/**
	 * Where it does not fit: cuts the words of people too, until no tokens are missing with these edits. Returns nothing if
	 * even that does not help.
	 */
	readonly cutWords?: (missingOf: (edits: readonly Edit[]) => number) => readonly Edit[] | undefined;
};

/** Cuts the words of people to fit, but to no less than the ceiling of the policy. */
function cutMovedWords(
	drops: readonly Edit[],
	words: readonly (readonly string[])[],
	given: Parameters & {
		readonly keeping: WordsKeeper;
		readonly moved: ReturnType<typeof moveWords>;
		readonly missingOf: (edits: readonly Edit[]) => number;
	},
): readonly Edit[] | undefined {
	const { keeping, meter, moved, missingOf } = given;
	const { text } = moved;
	const tokens = meter.countTokens(text);
	const least = Math.min(tokens, keeping.most);
	let missing = missingOf(moved.edits);
	let wanted = tokens;
	let best: readonly Edit[] | undefined;
	for (let attempt = 1; attempt <= attempts && missing > 0 && wanted > least; attempt += 1) {
		wanted = attempt === attempts ? least : Math.max(least, wanted - missing - 4 * attempt);
		const { edits } = moveWords(drops, words, { ...given, mostChars: Math.floor((wanted * text.length) / tokens) });
		missing = missingOf(edits);
		best = edits;
	}
	// Words are cut only if that helps.
	return missing === 0 ? best : undefined;
}

/** The most tokens of a model for a token of text. Fixed tokens, such as a message's delimiters, are not scaled. */
const mostScale = 2;

/** Whether the conversation gets smaller in the tokens of any model: the words may take more text than they leave. */
function saves({ tokens, fixed = 0 }: Size): boolean {
	return tokens > 0 && fixed + mostScale * (tokens - fixed) > 0;
}

/** The size that earlier steps have already saved in the messages that go. */
function savedBefore(edits: readonly Edit[], { measurement }: Parameters, current: readonly Size[]): Size {
	const gone = new Set(edits.filter(takesMessageOut).map(({ message }) => message));
	const saved = Array.from(gone, (index) =>
		subtractSizes(measurement.messages[index] ?? noSize, current[index] ?? noSize),
	);
	return saved.reduce(addSizes, noSize);
}

/** Estimates by message the tokens that its words take once it is dropped: whole up to the ceiling, and cut from there. */
function heldTokens(
	words: readonly (readonly string[])[],
	{ meter }: Parameters,
	{ most, locale }: WordsKeeper,
): number[] {
	const { countTokens } = meter;
	const separator = 2;
	let sum = 0;
	return words.map((texts) => {
		const marked = texts.map((text) => ({ text, isWhole: false }));
		const kept = sum <= most ? texts : keepWithin({ texts: marked, most: 0, countTokens, locale }).texts;
		const tokens = kept.reduce((total, text) => total + countTokens(text) + separator, 0);
		sum += tokens;
		return tokens;
	});
}

function moveWords(
	drops: readonly Edit[],
	words: readonly (readonly string[])[],
	given: Parameters & { readonly keeping: WordsKeeper; readonly mostChars?: number },
): { readonly edits: readonly Edit[]; readonly text: string } {
	const { transcript, measurement, meter, keeping, mostChars } = given;
	const gone = new Set(drops.map(({ message }) => message));
	if (![...gone].some((message) => words[message]?.length)) return { edits: drops, text: "" };
	const last = Math.max(...gone);
	transcript.messages.forEach((message, index) => {
		if (index < last && message.sent !== false && isWordsAlone(message)) gone.add(index);
	});
	const { most, locale } = keeping;
	const messages = [...gone].toSorted((a, b) => a - b);
	// After the first text, which may stay after a greeting that goes.
	const first = messages.find((message) => words[message]?.length) ?? -1;
	const where = { ...keeping, transcript, range: { messages, first } };
	const { host, folded, count } = earlierWords(where);
	const isGone = words.flatMap((of, message) => {
		return of.map((_, nth) => gone.has(message) || (message === host && nth >= of.length - count));
	});
	const texts = markWhole(words.flat()).filter((_, index) => isGone[index]);
	const written =
		mostChars === undefined
			? writeWords(keepWithin({ texts, most, countTokens: meter.countTokens, locale }).texts, locale)
			: wordsWithin({ texts: texts.map((one) => one.text), mostChars, locale, marksGaps: true }).text;
	const text = written ?? "";
	const edits = planSummary({ ...where, sizes: measurement.messages, text, meter, folded });
	const replaced = edits.find(({ kind, reason }) => kind === "replace" && reason === "summary")?.message;
	const ordered = edits
		.map((edit): Edit => (edit.kind === "remove" && edit.message !== replaced ? { ...edit, reason: "drop" } : edit))
		.toSorted((a, b) => a.message - b.message);
	return { edits: ordered, text };
}

/** The words of earlier drops in the message that the words join: how many frames and how many texts. */
function earlierWords(where: SummaryPlace) {
	const { message: host, frames } = joinedSummaries(where);
	const last = frames.slice(frames.findLastIndex(({ summary }) => summary !== "") + 1);
	return { host, folded: last.length, count: last.flatMap(({ words = [] }) => words).length };
}

function isWordsAlone(message: Transcript["messages"][number]): boolean {
	const frame = summaryOfMessage(message);
	return frame !== undefined && frame.summary === "" && frame.words !== undefined;
}
