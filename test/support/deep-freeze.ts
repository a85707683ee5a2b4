/** Freezes a JSON value all the way down, so that any attempt to change it throws. */
export function deepFreeze<Value>(value: Value): Value {
	if (typeof value !== "object" || value === null) return value;
	for (const inner of Object.values(value)) deepFreeze(inner);
	return Object.freeze(value);
}
