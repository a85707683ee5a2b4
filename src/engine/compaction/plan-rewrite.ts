import { compactJson } from "../stringify.ts";
import { matchValues } from "./match-values.ts";
import { plainJson } from "./plain-json.ts";
import type { PlanRewriteParameters, Rewrite } from "./rewrite.ts";
import { rewriteEdits } from "./rewrite-edits.ts";

/**
 * Turns the list that a strategy gave into edits of the conversation: values equal to those that were there, in their
 * order, stay untouched, to the byte; all others are taken out or put in.
 */
export function planRewrite(parameters: PlanRewriteParameters): Rewrite {
	const { source, after } = parameters;
	const refuse = (detail: string): Rewrite => ({ kind: "refused", detail });
	if (after === null) return { kind: "unchanged" };
	if (!Array.isArray(after)) return refuse("Expected a list of messages or null, got neither.");
	if (after.length === 0 && source.messages.length > 0) return refuse("Expected at least one message, got none.");
	const values: unknown[] = [];
	// By index, so that holes of the list are met too.
	for (let index = 0; index < after.length; index += 1) {
		const read = plainJson(after[index]);
		if (read.kind === "refused") return refuse(`Expected plain JSON, got ${read.problem} in message ${index}.`);
		if (!isObject(read.value)) return refuse(`Expected each message to be an object; message ${index} is none.`);
		values.push(read.value);
	}
	const matches = matchValues(source.messages.map(compactJson), values.map(compactJson));
	const kept = matches.reduce((count, match) => count + (match === -1 ? 0 : 1), 0);
	if (kept === values.length && kept === source.messages.length) return { kind: "unchanged" };
	return { kind: "rewrite", kept, ...rewriteEdits({ ...parameters, values, matches }) };
}

function isObject(value: unknown): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
