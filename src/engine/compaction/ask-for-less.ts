import type { LocaleName } from "../../policy/names.ts";

/** Messages that follow up a cut answer. */
export type AskForLess = readonly { readonly role: "user" | "assistant"; readonly content: string }[];

/** Asks for a more concise answer where one was cut off; French as seed 4, task 5 words it. */
export const followUps: Readonly<Record<LocaleName, string>> = {
	fr: "[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.",
	en: "[System] Your answer was cut off (max_tokens reached). Summarise your answer more concisely.",
	zh: "[系统] 你的回答被截断（已达到 max_tokens）。请更简洁地概括你的回答。",
};

/**
 * The conversation that asks for a more concise answer (seed 4, task 5): the prompt, what came, the request. Where
 * nothing came, the request ends the prompt, since some models want user and assistant in turn.
 */
export function askForLess(given: {
	readonly prompt: string;
	/** The answer as far as it came. */
	readonly partial: string;
	readonly locale: LocaleName;
}): AskForLess {
	const { prompt, partial, locale } = given;
	const followUp = followUps[locale];
	if (partial.trim() === "") return [{ role: "user", content: `${prompt}\n\n${followUp}` }];
	return [
		{ role: "user", content: prompt },
		{ role: "assistant", content: partial },
		{ role: "user", content: followUp },
	];
}
