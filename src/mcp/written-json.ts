const written = new WeakMap<object, string>();

/** Remembers the JSON of a large value that is written once more when its answer is sent. The value must not change. */
export function rememberWrittenJson(value: unknown, json: string): void {
	if (typeof value === "object" && value !== null) written.set(value, json);
}

/** The JSON that was remembered for a value, which is then forgotten. */
export function takeWrittenJson(value: unknown): string | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	const json = written.get(value);
	written.delete(value);
	return json;
}
