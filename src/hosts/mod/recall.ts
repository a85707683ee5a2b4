import { PalimpsestError } from "../../errors.ts";
import { usualMaxTokens } from "../../storage/archive/part.ts";
import { selectPart } from "../../storage/archive/select.ts";
import type { Disk } from "./disk.ts";
import { findOriginal } from "./originals.ts";
import { searchTexts } from "./search.ts";

export const recallName = "recall_original";

/** The tool as it is offered to the model, with the JSON Schema of its arguments. */
export const recallTool = {
	name: recallName,
	description:
		"Reads what was left out of a tool result. A result that begins with a line such as [Output shortened: …, ref=REF] is kept whole, and the command need not run again. With ref, returns a part of it: matching lines (grep), lines, characters, the start or the end. With query, finds the originals that hold its words.",
	inputSchema: {
		type: "object",
		properties: {
			ref: { type: "string", description: "The reference, copied character by character." },
			grep: { type: "string", description: "A regular expression (RE2): its lines, with `context` lines around each." },
			context: { type: "integer", minimum: 0, maximum: 100 },
			lines: { type: "string", description: "Such as 120-180, 120- or 120." },
			chars: { type: "string", description: "Such as 8000-12000." },
			head: { type: "integer", minimum: 1 },
			tail: { type: "integer", minimum: 1 },
			query: { type: "string", description: "Words that an original holds, in place of a reference." },
			max_tokens: { type: "integer", minimum: 10, description: `${usualMaxTokens} unless given.` },
		},
	},
} as const;

/** Arguments as a model writes them: nothing is certain of them. */
export type RecallInput = Readonly<Record<string, unknown>>;

/** The answer to a call, as a text. A fault of the call is said in words; other faults reject. */
export async function answerRecall(
	input: RecallInput,
	where: { readonly disk: Disk; readonly folder: string },
): Promise<string> {
	const { ref, query } = input;
	try {
		if (typeof ref === "string" && ref !== "") return await partOf(ref, input, where);
		if (typeof query === "string" && query.trim() !== "") return await searchTexts(query, where);
		return "Expected `ref`, copied from the notice, or `query`, words that the original holds.";
	} catch (error) {
		if (error instanceof PalimpsestError) return error.message;
		throw error;
	}
}

async function partOf(
	given: string,
	input: RecallInput,
	where: { readonly disk: Disk; readonly folder: string },
): Promise<string> {
	const named = given.replace(/^.*?(?:r[eé]f\s*=|original:\/\/|#)/isu, "");
	const found = await findOriginal(named, where);
	if (!found)
		return "No original is kept under this reference: it was altered, or the original has expired. Copy it from the notice, character by character.";
	const { lines, chars, grep, context, head, tail, max_tokens: maxTokens } = input;
	const part = definedOf({ lines: textOf(lines), chars: textOf(chars), grep: textOf(grep) });
	const numbers = definedOf({
		context: numberOf(context),
		head: numberOf(head),
		tail: numberOf(tail),
		maxTokens: numberOf(maxTokens),
	});
	const countTokens = (text: string) => Math.ceil(text.length / 4);
	const { text, shown, total, matches, next } = await selectPart(
		{ ...part, ...numbers },
		{ countTokens },
	)(pieceOf(found.text));
	const where_ = shown === null ? "none" : `lines ${shown.lines.first}-${shown.lines.last}`;
	const of = matches ? `${matches.shown} of ${matches.found} matching lines, ${where_}` : where_;
	const further = next ? `; for more call ${recallName} ${JSON.stringify({ ref: found.ref, ...next })}` : "";
	return `[Original: ${of} of ${total.lines}${further}]\n${text}`;
}

async function* pieceOf(text: string): AsyncGenerator<string> {
	yield text;
}

const textOf = (value: unknown) => (typeof value === "string" || typeof value === "number" ? String(value) : undefined);

const numberOf = (value: unknown) =>
	value === undefined || value === null || value === "" ? undefined : Number(value);

function definedOf<Value extends object>(value: Value): Partial<Value> {
	return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as Partial<Value>;
}
