/** The smallest and the largest block into which small chunks are copied, in bytes. */
const [smallestBlock, largestBlock] = [512, 64 * 1024];

/**
 * Collects the chunks of a message. A client chooses how small they are, and each Buffer costs some 300 bytes of its own,
 * so small chunks are copied into blocks that grow with the message. Larger ones are kept as they are.
 */
export function createJoinedChunks() {
	const pieces: Buffer[] = [];
	/** The unused rest of the last piece, if that is a block. */
	let free = Buffer.alloc(0);
	let [length, memory] = [0, 0];
	return {
		/** How many bytes were added. */
		length: () => length,
		/** How many bytes of memory they take. */
		memory: () => memory,
		add(chunk: Buffer): void {
			const copied = chunk.copy(free);
			free = free.subarray(copied);
			const rest = chunk.subarray(copied);
			const block = Math.min(Math.max(smallestBlock, length / 4), largestBlock);
			if (rest.length >= block) {
				pieces.push(rest);
				// Node gives each chunk its own memory, all of which stays while a part is kept.
				memory += chunk.length;
			} else if (rest.length > 0) {
				// Not from Node's pool, whose memory would be shared with the pieces of other messages.
				const next = Buffer.allocUnsafeSlow(Math.ceil(block));
				pieces.push(next);
				memory += next.length;
				free = next.subarray(rest.copy(next));
			}
			length += chunk.length;
		},
		/** All of them as one. */
		bytes: () => Buffer.concat(pieces, length),
	};
}
