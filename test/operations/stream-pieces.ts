/** Bytes of every kind, most of them no UTF-8, the same each time. */
export function anyBytes(length: number): Buffer {
	const bytes = Buffer.alloc(length);
	let state = 7;
	for (let index = 0; index < length; index += 1) {
		state = (state * 48_271) % 2_147_483_647;
		bytes[index] = state % 3 === 0 ? 0x61 : state >>> 8;
	}
	return bytes;
}

/** The bytes in pieces of these lengths, in turn. */
export async function* cut(bytes: Buffer, lengths: readonly number[]): AsyncGenerator<Buffer> {
	for (let start = 0, index = 0; start < bytes.length; index += 1) {
		const length = lengths[index % lengths.length] as number;
		yield bytes.subarray(start, start + length);
		start += length;
	}
}
