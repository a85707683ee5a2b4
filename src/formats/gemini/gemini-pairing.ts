import { idAt, isJsonObject, stringAt } from "../json-values.ts";
import { memberOf } from "./gemini-parts.ts";

/** A call that waits for its response. */
interface OpenCall {
	readonly name: string | undefined;
	readonly ownId: string | undefined;
	/** Its id so far, by content and part. */
	readonly content: number;
	readonly part: number;
}

/**
 * The ids by which calls and responses are paired, by content and part; `undefined` for all other parts and for
 * responses without an id that answer no call. Ids of the API's own count where both sides have the same one. Where one
 * side has none, a response answers the first open call of its name in the nearest content with calls before it, and
 * both go by the id that one of them has. Where neither has one they go by the tool's name and the call's number among
 * those of that name in its content (`read_file#1`): such an id stays the same when other messages are dropped, and
 * looks well in a placeholder.
 */
export function pairGeminiCalls(contents: readonly unknown[]): (string | undefined)[][] {
	const ids: (string | undefined)[][] = [];
	const seen = new Set<string>();
	let open: OpenCall[] = [];
	let turn = -1;
	contents.forEach((value, content) => {
		const own: (string | undefined)[] = [];
		ids.push(own);
		const parts: unknown = isJsonObject(value) ? value.parts : undefined;
		if (!Array.isArray(parts)) return;
		const numbers = new Map<string, number>();
		(parts as unknown[]).forEach((value, part) => {
			const call = isJsonObject(value) ? memberOf(value, "functionCall") : undefined;
			const response = isJsonObject(value) ? memberOf(value, "functionResponse") : undefined;
			if (isJsonObject(call)) {
				if (turn !== content) open = [];
				turn = content;
				const [name, ownId] = [stringAt(call, "name"), idAt(call, "id")];
				const number = (numbers.get(name ?? "") ?? 0) + 1;
				numbers.set(name ?? "", number);
				if (ownId !== undefined) seen.add(ownId);
				own[part] = ownId ?? `${name || "call"}#${number}`;
				open.push({ name, ownId, content, part });
			} else if (isJsonObject(response)) {
				own[part] = answer(response);
			}
		});
	});

	function answer(response: Readonly<Record<string, unknown>>): string | undefined {
		const [name, ownId] = [stringAt(response, "name"), idAt(response, "id")];
		const named = ownId === undefined ? -1 : open.findIndex((call) => call.ownId === ownId);
		if (ownId !== undefined && (named !== -1 || seen.has(ownId))) {
			if (named !== -1) open.splice(named, 1);
			return ownId;
		}
		const position = open.findIndex((call) => call.name === name && (call.ownId === undefined || ownId === undefined));
		const [call] = position === -1 ? [] : open.splice(position, 1);
		if (!call) return ownId;
		const row = ids[call.content] as (string | undefined)[];
		if (ownId !== undefined) row[call.part] = ownId;
		return row[call.part];
	}

	return ids;
}
