import { SummariserError } from "../../errors.ts";
import type { Summariser } from "../../summariser/summariser.ts";
import type { ModelKind, ModelQuestion, ThreadJob } from "./call-pool.ts";

/** The models of a job: those that have answered. */
export interface AskedModels {
	readonly models: { readonly [model in ModelKind]?: Summariser };
	/** What a model was asked that has no answer yet, which ended the work. */
	question(): ModelQuestion | undefined;
	/** Aborted when there is such a question. */
	readonly signal: AbortSignal;
}

/**
 * Makes the models of a job from the answers that it brings. What has no answer yet ends the work: the thread is not held
 * while a model thinks, and the job comes again with the answer.
 */
export function createAskedModels({ models, answers }: Pick<ThreadJob, "models" | "answers">): AskedModels {
	const controller = new AbortController();
	const left = [...answers];
	let open: ModelQuestion | undefined;

	const summariserOf = (model: ModelKind, name: string): Summariser => ({
		name,
		async summarise({ prompt, maxTokens, locale }) {
			const question: ModelQuestion = { model, prompt, maxTokens, locale };
			const index = left.findIndex((one) => isSame(one.question, question));
			const [known] = index < 0 ? [] : left.splice(index, 1);
			if (known === undefined) {
				open ??= question;
				controller.abort(new Error("A model has to be asked first."));
				throw controller.signal.reason;
			}
			if ("code" in known) throw new SummariserError(known.code, known.message, known.statusCode);
			return known.answer;
		},
		close: async () => undefined,
	});
	const named = Object.entries(models).filter((entry): entry is [ModelKind, string] => entry[1] !== undefined);
	return {
		models: Object.fromEntries(named.map(([model, name]) => [model, summariserOf(model, name)])),
		question: () => open,
		signal: controller.signal,
	};
}

function isSame(one: ModelQuestion, other: ModelQuestion): boolean {
	return (
		one.model === other.model &&
		one.prompt === other.prompt &&
		one.maxTokens === other.maxTokens &&
		one.locale === other.locale
	);
}
