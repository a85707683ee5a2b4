import { isJsonObject } from "../hooks/tool-event.ts";

type Table = Readonly<Record<string, unknown>>;

/**
 * What a configuration holds once a value stands at a key, or, where it is `undefined`, once nothing does and the tables
 * that this leaves empty are gone: what a changed text is held against.
 */
export function withValue(table: Table, [name = "", ...rest]: readonly string[], value: unknown): Table {
	const { [name]: at, ...others } = table;
	const inner = rest.length === 0 ? value : withValue(isJsonObject(at) ? at : {}, rest, value);
	const isGone = inner === undefined || (rest.length > 0 && isJsonObject(inner) && Object.keys(inner).length === 0);
	return isGone ? others : { ...others, [name]: inner };
}
