import type { LocaleName } from "../../policy/names.ts";
import { fillTemplate } from "../fill-template.ts";
import { delimiterFor } from "./delimiter.ts";
import { handoverWordings } from "./handover-wordings.ts";
import { pieceSeparator } from "./render-range.ts";

/** What a prompt is written from. */
export interface HandoverPromptParameters {
	/** The rendered messages, or the summaries of parts, in order. */
	readonly pieces: readonly string[];
	readonly locale: LocaleName;
	/** Most tokens that the answer should take; the model is told so. */
	readonly maxTokens: number;
	/** Whether the pieces are messages, or summaries of parts that are to be made one. */
	readonly of: "messages" | "summaries";
}

/**
 * Asks for a structured hand-over: task, decisions, files and identifiers, commands, open problems, next step. The text
 * stands between two lines with a word that does not occur in it, and the model is told, before it and behind it, that
 * it is data: what tools answered is written by anybody.
 */
export function writeHandoverPrompt({ pieces, locale, maxTokens, of }: HandoverPromptParameters): string {
	const text = pieces.join(pieceSeparator);
	const wording = handoverWordings[locale];
	const values = { delimiter: delimiterFor(text), max_tokens: maxTokens };
	const fill = (template: string) => fillTemplate(template, values);
	return [
		fill(of === "messages" ? wording.ask : wording.askToJoin),
		wording.sections.map((section) => `## ${section}`).join("\n"),
		fill(wording.rules),
		`<<<${values.delimiter}`,
		text,
		`${values.delimiter}>>>`,
		fill(wording.reminder),
	].join("\n\n");
}
