import { idAt, isJsonObject, stringAt } from "../json-values.ts";
import { type Exchange, pairByPosition } from "../pair-by-position.ts";
import { memberOf } from "./gemini-parts.ts";

/** The ids by which calls and responses are paired, by content and part; `undefined` for all other parts. */
export function pairGeminiCalls(contents: readonly unknown[]): (string | undefined)[][] {
	return pairByPosition(contents.map(exchangesOf));
}

function exchangesOf(content: unknown): readonly (Exchange | undefined)[] {
	const parts: unknown = isJsonObject(content) ? content.parts : undefined;
	return Array.isArray(parts) ? (parts as unknown[]).map(exchangeOf) : [];
}

function exchangeOf(part: unknown): Exchange | undefined {
	if (!isJsonObject(part)) return undefined;
	const call = memberOf(part, "functionCall");
	if (isJsonObject(call)) return { kind: "call", name: stringAt(call, "name"), ownId: idAt(call, "id") };
	const response = memberOf(part, "functionResponse");
	if (!isJsonObject(response)) return undefined;
	return { kind: "result", name: stringAt(response, "name"), ownId: idAt(response, "id") };
}
