/** Whether two JSON values are the same: the same texts and numbers, and the same keys in the same order. */
export function equalsJson(a: unknown, b: unknown): boolean {
	if (Object.is(a, b)) return true;
	if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return false;
	if (Array.isArray(a)) {
		return Array.isArray(b) && a.length === b.length && a.every((item, index) => equalsJson(item, b[index]));
	}
	if (Array.isArray(b)) return false;
	const [keys, others] = [Object.keys(a), Object.keys(b)];
	if (keys.length !== others.length) return false;
	return keys.every((key, index) => {
		return key === others[index] && equalsJson((a as JsonRecord)[key], (b as JsonRecord)[key]);
	});
}

type JsonRecord = Readonly<Record<string, unknown>>;

/** Whether a value is an object and no list. */
export function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
