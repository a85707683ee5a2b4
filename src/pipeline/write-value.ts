import { applyPlan } from "../engine/apply.ts";
import type { Edit, ReplaceEdit } from "../engine/edit.ts";
import { equalsCopy, ownJson } from "../engine/json-copy.ts";
import { verifyUntouched } from "../engine/verify-untouched.ts";
import { isJsonObject, type JsonObject } from "../formats/json-values.ts";

/**
 * Applies to one value of a list the edits inside of it, whose paths lead to it in `depth` segments, and checks that the
 * value differs only where they say so. `undefined` where it does not, and where an edit is of the value itself.
 */
export function writeValue(value: unknown, edits: readonly Edit[], depth: number): unknown {
	const edit = edits[0];
	const isMember = edits.length === 1 && edit?.kind === "replace" && edit.path.length === depth + 1;
	if (isMember && isJsonObject(value)) return replaceMember(value, String(edit.path[depth]), edit);
	if (edits.some(({ path }) => path.length <= depth)) return undefined;
	const inside = edits.map((one): Edit => ({ ...one, path: one.path.slice(depth) }));
	const written = applyPlan(value, inside);
	return verifyUntouched(value, written, inside).length === 0 ? written : undefined;
}

/** What most edits are, the content of a message replaced, without a tree of paths for it. */
function replaceMember(value: JsonObject, key: string, { replacement }: ReplaceEdit): JsonObject | undefined {
	const written: JsonObject = { ...value, [key]: ownJson(replacement) };
	const keys = Object.keys(value);
	let position = 0;
	for (const name in written) {
		const isWritten = name === key ? equalsCopy(replacement, written[name]) : Object.is(written[name], value[name]);
		if (name !== keys[position] || !isWritten) return undefined;
		position += 1;
	}
	return position === keys.length ? written : undefined;
}
