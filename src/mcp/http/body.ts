import type { IncomingMessage } from "node:http";
import { PalimpsestError } from "../../errors.ts";
import { readBody } from "../pool/arguments.ts";

/** Reads the bodies of one server's requests. */
export type BodyReader = ReturnType<typeof createBodyReader>;

/** Makes a reader that never holds more memory than the limit, however many clients send, and in chunks of any size. */
export function createBodyReader(limits: {
	/** Most bytes of one body. */
	readonly bytesOfOne: number;
	/** Most bytes of memory for all bodies that arrive at the same time. */
	readonly bytesOfAll: number;
	/** Whether large arguments of calls are left to the threads that work on them. */
	readonly holdsArguments?: boolean;
}) {
	const { bytesOfOne, bytesOfAll, holdsArguments = false } = limits;
	let held = 0;

	const readBytes = (request: IncomingMessage): Promise<Buffer> =>
		new Promise((resolve, reject) => {
			let chunks = createJoinedChunks();
			let charged = 0;
			const charge = (): void => {
				held += chunks.memory() - charged;
				charged = chunks.memory();
			};
			const take = (chunk: Buffer): void => {
				const isTooLarge = chunks.length() + chunk.length > bytesOfOne;
				if (!isTooLarge) chunks.add(chunk);
				charge();
				if (isTooLarge) refuse(tooLarge(bytesOfOne));
				else if (held > bytesOfAll) refuse(busy());
			};
			const letGo = (): void => {
				// The listeners live as long as the request, which lives as long as its answer.
				chunks = createJoinedChunks();
				charge();
			};
			const refuse = (error: PalimpsestError): void => {
				reject(error);
				// The rest is read and discarded: a client that is cut off while it sends often does not see the answer.
				request.off("data", take);
				request.resume();
				letGo();
			};
			request.on("error", reject);
			request.on("close", () => {
				letGo();
				reject(new Error("The client went away."));
			});
			if (Number(request.headers["content-length"]) > bytesOfOne) return refuse(tooLarge(bytesOfOne));
			request.on("end", () => {
				const bytes = chunks.bytes();
				letGo();
				resolve(bytes);
			});
			request.on("data", take);
		});

	return {
		/**
		 * Reads a request's body as JSON. It keeps nothing beyond the limit: it stops at once if Content-Length is over it, else
		 * as soon as more bytes arrive.
		 *
		 * @throws PalimpsestError those of `readBody`, and `payload_too_large`; `rate_limit` if all bodies together take too
		 * much; the stream's own error if the client went away.
		 */
		read: async (request: IncomingMessage): Promise<unknown> => readBody(await readBytes(request), holdsArguments),
	};
}

/** The smallest and the largest block into which small chunks are copied, in bytes. */
const [smallestBlock, largestBlock] = [512, 64 * 1024];

/**
 * Collects the chunks of a body. A client chooses how small they are, and each Buffer costs some 300 bytes of its own, so
 * small chunks are copied into blocks that grow with the body. Larger ones are kept as they are.
 */
function createJoinedChunks() {
	const pieces: Buffer[] = [];
	/** The unused rest of the last piece, if that is a block. */
	let free = Buffer.alloc(0);
	let [length, memory] = [0, 0];
	const keep = (piece: Buffer, bytes: number): void => {
		pieces.push(piece);
		memory += bytes;
	};
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
			// Node's parser gives each chunk its own memory, all of which stays while a part is kept.
			if (rest.length >= block) keep(rest, chunk.length);
			else if (rest.length > 0) {
				// Not from Node's pool, whose memory would be shared with the pieces of other bodies.
				const next = Buffer.allocUnsafeSlow(Math.ceil(block));
				keep(next, next.length);
				free = next.subarray(rest.copy(next));
			}
			length += chunk.length;
		},
		/** All of them as one. */
		bytes: () => Buffer.concat(pieces, length),
	};
}

function tooLarge(limit: number): PalimpsestError {
	const message = `Expected a body of at most ${limit} bytes. Send a shorter conversation, or use the server on standard input and output.`;
	return new PalimpsestError("payload_too_large", message);
}

function busy(): PalimpsestError {
	return new PalimpsestError("rate_limit", "Too many large requests come at the same time. Try again in a moment.");
}
