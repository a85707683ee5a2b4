import type { Piscina } from "piscina";
import type { Transcript } from "../engine/conversation/transcript.ts";
import type { Policy } from "../engine/policy/schema.ts";
import type { TruncateOutputParameters } from "../engine/truncation/draft.ts";
import { countAhead } from "../formats/tokens/counter.ts";
import type { EncodingName } from "../formats/tokens/encodings.ts";
import { estimateTokens } from "../formats/tokens/estimate.ts";

/** Characters of texts that take 100 ms and more to cut and to count. */
const manyChars = 256_000;

/** Of so many, the texts of more than this number go to another thread: shorter ones are quicker here. */
export const largeText = 64_000;

export function areLarge(texts: readonly string[]): boolean {
	return texts.reduce((sum, { length }) => sum + length, 0) > manyChars;
}

export interface CutJob {
	readonly kind: "cut";
	readonly cut: TruncateOutputParameters;
}

export interface CountJob {
	readonly kind: "count";
	readonly text: string;
	readonly encoding: EncodingName;
}

export interface LargeTexts {
	/** The same text to which this thread would cut it. Rejects if that fails or takes too long. */
	readonly cut: (cut: TruncateOutputParameters) => Promise<string>;
	/** The tokens; `undefined` if they cannot be counted there. */
	readonly count: (what: Pick<CountJob, "text" | "encoding">) => Promise<number | undefined>;
	readonly close: () => Promise<void>;
}

/** In ms: a request waits for its cuts, and 3 MB take some 2 s. */
const longestMs = 10_000;

/** Cuts and counts large texts in other threads, so that one request does not hold up all others. They start with the first text. */
export function openLargeTexts(): LargeTexts {
	let threads: Promise<Piscina> | undefined;
	const open = async (): Promise<Piscina> => {
		const { openThreads } = await import("./threads.ts");
		const module = new URL(`./large-text-thread${import.meta.url.slice(-3)}`, import.meta.url);
		return openThreads({ module, name: "runLargeText", least: 0, most: 2 });
	};
	const run = async (job: CutJob | CountJob) => {
		threads ??= open().catch((error: unknown) => {
			threads = undefined;
			throw error;
		});
		return (await threads).run(job, { signal: AbortSignal.timeout(longestMs) });
	};
	return {
		// No function can be sent to a thread, which has its own.
		cut: (cut) => run({ kind: "cut", cut: { ...cut, stripAnsi: undefined, htmlToText: undefined } }),
		count: (what) => run({ kind: "count", ...what }).catch(() => undefined),
		close: async () => (await threads?.catch(() => undefined))?.destroy(),
	};
}

/** Has the large texts of a conversation counted, so that a later count in this thread finds their tokens. */
export async function countLargeTexts(
	{ messages, surroundings }: Transcript,
	{
		policy,
		model,
		largeTexts,
	}: {
		readonly policy: Policy;
		readonly model: string | undefined;
		readonly largeTexts: LargeTexts;
	},
): Promise<void> {
	const inMessages = messages.flatMap(({ counted, results }) => [
		...counted,
		...results.flatMap(({ texts }) => texts.map(({ text }) => text)),
	]);
	const large = [...surroundings, ...inMessages].filter((text) => text.length > largeText);
	if (!areLarge(large)) return;
	const { encoding } = await estimateTokens(model, policy.tokens.encoding ?? undefined);
	await countAhead(large, encoding, (text) => largeTexts.count({ text, encoding }));
}
