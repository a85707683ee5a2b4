/** What a value beside a string takes, in bytes, roughly: a number, or the head of an object. */
const bytesOfValue = 32;

/**
 * Bytes that a JSON value takes in memory, at most as a rule: two for each character, and one for each of bytes. Writing it out to measure it would
 * cost as much as sending it. Stops past `most`.
 */
export function sizeOfJson(value: unknown, most: number): number {
	const stack: unknown[] = [value];
	let bytes = 0;
	while (stack.length > 0 && bytes <= most) {
		const one = stack.pop();
		bytes += typeof one === "string" ? bytesOfValue + 2 * one.length : bytesOfValue;
		if (typeof one !== "object" || one === null) continue;
		if (ArrayBuffer.isView(one)) {
			bytes += one.byteLength;
			continue;
		}
		if (Array.isArray(one)) {
			for (const item of one) stack.push(item);
			continue;
		}
		for (const [key, item] of Object.entries(one)) {
			bytes += 2 * key.length;
			stack.push(item);
		}
	}
	return bytes;
}
