import { keepWithin, markWhole, writeWords } from "../compaction/kept-words.ts";
import { planSummary, summaryOfMessage } from "../compaction/summary.ts";
import { usersTexts } from "../compaction/users-words.ts";
import type { MessageWriter } from "../conversation/apply.ts";
import type { TokenMeter } from "../conversation/measure.ts";
import {
	addSizes,
	type Edit,
	noSize,
	type Size,
	savedSize,
	subtractSizes,
	takesMessageOut,
} from "../conversation/plan.ts";
import type { Path, Transcript } from "../conversation/transcript.ts";
import type { LocaleName } from "../policy/names.ts";
import { type DropParameters, planDrop } from "./drop.ts";

/** What keeps the words of people in a conversation whose messages are dropped. */
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
	/** Of the conversation with the edits of earlier steps, and of its messages. */
	readonly left: Size;
	readonly current: readonly Size[];
	readonly keeping: WordsKeeper | undefined;
};

/** How often it is dropped once more because the words took more room than expected. */
const attempts = 6;

/** Drops groups, and puts what people wrote in them, and in earlier drops, into one place. */
export function planDropWithWords(parameters: Parameters): ReturnType<typeof planDrop> {
	const { transcript, keeping, excess, left, hysteresis } = parameters;
	if (!keeping) return planDrop({ ...parameters, fits: (context) => excess(context) === 0 });
	const words = usersTexts({ ...keeping, transcript });
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
		const edits = moveWords(dropped.edits, words, { ...parameters, keeping });
		const saved = subtractSizes(savedSize(edits), savedBefore(edits, parameters));
		const missing = excess(subtractSizes(left, saved));
		if (missing === 0 || attempt === attempts) return { ...dropped, edits: savedSize(edits).tokens > 0 ? edits : [] };
		// The tokens of the words are estimated, and groups are coarse: each attempt leaves more room.
		room = 2 * room + missing + 32;
	}
}

/** What earlier steps have already saved in the messages that go. */
function savedBefore(edits: readonly Edit[], { measurement, current }: Parameters): Size {
	const gone = new Set(edits.filter(takesMessageOut).map(({ message }) => message));
	const saved = Array.from(gone, (index) =>
		subtractSizes(measurement.messages[index] ?? noSize, current[index] ?? noSize),
	);
	return saved.reduce(addSizes, noSize);
}

/** By message, about the tokens that its words take once it is dropped: whole up to the ceiling, and cut from there. */
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
	{ transcript, measurement, meter, keeping }: Parameters & { readonly keeping: WordsKeeper },
): readonly Edit[] {
	const gone = new Set(drops.map(({ message }) => message));
	if (![...gone].some((message) => words[message]?.length)) return drops;
	const last = Math.max(...gone);
	transcript.messages.forEach((message, index) => {
		if (index < last && message.sent !== false && isWordsAlone(message)) gone.add(index);
	});
	const texts = markWhole(words.flat());
	const isGone = words.flatMap((of, message) => of.map(() => gone.has(message)));
	const kept = keepWithin({
		texts: texts.filter((_, index) => isGone[index]),
		most: keeping.most,
		countTokens: meter.countTokens,
		locale: keeping.locale,
	});
	const messages = [...gone].toSorted((a, b) => a - b);
	// Behind the first text, which may stay behind a greeting that goes.
	const first = messages.find((message) => words[message]?.length) ?? -1;
	const edits = planSummary({
		...keeping,
		transcript,
		range: { messages, first },
		sizes: measurement.messages,
		text: writeWords(kept.texts, keeping.locale) ?? "",
		meter,
	});
	const replaced = edits.find(({ kind }) => kind === "replace")?.message;
	return edits
		.map((edit): Edit => (edit.kind === "remove" && edit.message !== replaced ? { ...edit, reason: "drop" } : edit))
		.toSorted((a, b) => a.message - b.message);
}

function isWordsAlone(message: Transcript["messages"][number]): boolean {
	const frame = summaryOfMessage(message);
	return frame !== undefined && frame.summary === "" && frame.words !== undefined;
}
