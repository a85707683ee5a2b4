/** Bounds in bytes of the blocks into which small chunks are copied. */
const [smallestBlock, largestBlock] = [512, 64 * 1024];

/** Each Buffer costs some 300 bytes of its own, so small chunks are copied into blocks that grow with the message. */
export function createJoinedChunks() {
	const pieces: Buffer[] = [];
	let free = Buffer.alloc(0);
	let [length, memory] = [0, 0];
	return {
		length: () => length,
		memory: () => memory,
		add(chunk: Buffer): void {
			const copied = chunk.copy(free);
			free = free.subarray(copied);
			const rest = chunk.subarray(copied);
			const block = Math.min(Math.max(smallestBlock, length / 4), largestBlock);
			if (rest.length >= block) {
				pieces.push(rest);
				// Keeping a part of a chunk keeps all of its memory.
				memory += chunk.length;
			} else if (rest.length > 0) {
				// Blocks of Node's pool would share memory with other messages.
				const next = Buffer.allocUnsafeSlow(Math.ceil(block));
				pieces.push(next);
				memory += next.length;
				free = next.subarray(rest.copy(next));
			}
			length += chunk.length;
		},
		bytes: () => Buffer.concat(pieces, length),
	};
}
