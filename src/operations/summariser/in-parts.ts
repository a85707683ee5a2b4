import { type Pieces, packPieces, splitInTwo } from "../../engine/compaction/range.ts";
import { truncateHeadTail } from "../../engine/truncation/head-tail.ts";
import { SummariserError } from "../../errors.ts";
import {
	type Clock,
	type Summariser,
	type SummaryAnswer,
	type SummaryPhase,
	type SummaryProgress,
	type SummaryRequest,
	systemClock,
	tellProgress,
} from "./summariser.ts";

interface InPartsRequest extends Omit<SummaryRequest, "prompt"> {
	readonly summariser: Summariser;
	readonly pieces: Pieces;
	readonly writePrompt: (pieces: Pieces) => string;
	readonly writeJoinPrompt: (summaries: Pieces) => string;
	readonly partTokens?: number | undefined;
	readonly countTokens: (text: string) => number;
	/** Replaces the middle of a piece that is too long on its own. Variable: {omitted_chars}. */
	readonly marker: string;
	readonly clock?: Clock;
}

const deepest = 4;

/** Splits a prompt that is too long between messages and joins the summaries. A message that is too long loses its middle. */
export async function summariseInParts(request: InPartsRequest): Promise<SummaryAnswer & { readonly parts: number }> {
	const { summariser, pieces, partTokens, countTokens, clock = systemClock } = request;
	const started = clock.now();
	const elapsed = () => (clock.now() - started) / 1000;
	const tell = tellProgress(request.onProgress);
	const tellPhase = (phase: SummaryPhase) => tell({ kind: "phase", phase, elapsed: elapsed() });

	const usages: NonNullable<SummaryAnswer["usage"]>[] = [];
	const ask = async (prompt: string): Promise<SummaryAnswer> => {
		const before = elapsed();
		const onProgress = (progress: SummaryProgress) =>
			tell(progress.kind === "retry" ? progress : { ...progress, elapsed: before + progress.elapsed });
		const { maxTokens, locale, signal } = request;
		const answer = await summariser.summarise({ prompt, maxTokens, locale, signal, onProgress });
		if (answer.usage) usages.push(answer.usage);
		return answer;
	};

	const summarise = async (part: Pieces, depth: number): Promise<SummaryAnswer[]> => {
		try {
			return [await ask(request.writePrompt(part))];
		} catch (error) {
			if (!isTooLong(error) || depth === deepest) throw error;
			tellPhase("splitting");
			const halves = splitInTwo(part);
			if (!halves) return summarise([halve(part[0] ?? "", request.marker)], depth + 1);
			return [...(await summarise(halves[0], depth + 1)), ...(await summarise(halves[1], depth + 1))];
		}
	};

	const join = async (answers: readonly SummaryAnswer[], depth: number): Promise<SummaryAnswer> => {
		if (answers.length === 1) return answers[0] as SummaryAnswer;
		tellPhase("joining");
		const texts = answers.map(({ text }) => text);
		try {
			return await ask(request.writeJoinPrompt(texts));
		} catch (error) {
			if (!isTooLong(error) || depth === deepest || answers.length < 3) throw error;
			const middle = Math.ceil(answers.length / 2);
			const first = await join(answers.slice(0, middle), depth + 1);
			return join([first, await join(answers.slice(middle), depth + 1)], depth + 1);
		}
	};

	const parts = partTokens === undefined ? [pieces] : packPieces(pieces, countTokens, partTokens);
	const answers: SummaryAnswer[] = [];
	for (const part of parts) answers.push(...(await summarise(part, 0)));
	const answer = await join(answers, 0);
	const sum = (name: "promptTokens" | "completionTokens") => usages.reduce((total, usage) => total + usage[name], 0);
	const usage = { promptTokens: sum("promptTokens"), completionTokens: sum("completionTokens") };
	return { ...answer, ...(usages.length > 0 ? { usage } : {}), parts: answers.length };
}

const isTooLong = (error: unknown) => error instanceof SummariserError && error.code === "context_too_long";

function halve(piece: string, marker: string): string {
	const kept = Math.floor(piece.length / 4);
	const limits = { maxChars: Math.floor(piece.length / 2), headChars: kept, tailChars: kept, marker };
	return truncateHeadTail(piece, limits).text;
}
