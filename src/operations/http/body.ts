import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";

/** A body that has arrived whole counts as held until it is released. */
type ArrivedBody =
	| {
			readonly kind: "whole";
			readonly bytes: Buffer;
			readonly hold: Hold;
			readonly release: () => void;
	  }
	| {
			/** `no_room`: all bodies together pass their limit, and this one is the largest that still arrives. */
			readonly kind: "too_large" | "no_room" | "tiny_pieces";
			/** All of the body, as fast as it is read. */
			readonly stream: () => Readable;
			/** Drops what has arrived and what is still to come. */
			readonly discard: () => void;
	  };

/** More memory for a body that has arrived. */
export interface Hold {
	/** Counts more bytes as held, and says whether they have room. If not, nothing is counted. */
	readonly take: (bytes: number) => boolean;
	/** The same once others have released so much, in the order of asking; `false` after a while. */
	readonly takeInTurn: (bytes: number) => Promise<boolean>;
}

interface BodyLimits {
	/** Most bytes of one body. */
	readonly bytesOfOne: number;
	/** Most bytes of memory of all bodies together. */
	readonly bytesOfAll: number;
	/** Milliseconds that a body which has arrived waits for more memory. */
	readonly longestWaitMs?: number;
	/** Whether a body whose pieces average under 16 bytes past 64 kB ends early: no program sends one. */
	readonly endsTinyPieces?: boolean;
}

/** Limits on tiny pieces. Past them no more are read, and the client has a moment to see its answer. */
const tiny = { afterBytes: 64 * 1024, averageBytes: 16, goodbyeMilliseconds: 1_000 };

interface Arriving {
	readonly memory: () => number;
	readonly endEarly: (kind: "no_room") => void;
}

/** Reads bodies in pieces of any size, and never holds more memory than the limit, however many clients send. */
export function createBodyHold({ bytesOfOne, bytesOfAll, longestWaitMs = 10_000, endsTinyPieces = false }: BodyLimits) {
	const arriving = new Set<Arriving>();
	const waiting = new Set<() => boolean>();
	let held = 0;

	/** Rejects if the client leaves. */
	const read = (request: IncomingMessage): Promise<ArrivedBody> =>
		new Promise((resolve, reject) => {
			const chunks = createJoinedChunks();
			let [pieces, charged] = [0, 0];
			const release = (): void => {
				held -= charged;
				charged = 0;
				for (const take of waiting) if (!take()) break;
			};
			const leave = (): Buffer => {
				arriving.delete(body);
				request.off("end", onEnd).off("error", onLeft).off("close", onLeft);
				return turns.end();
			};
			const onEnd = (): void => {
				leave();
				const take = (more: number): boolean => {
					if (held + more > bytesOfAll) return false;
					held += more;
					charged += more;
					return true;
				};
				const takeInTurn = (more: number): Promise<boolean> =>
					new Promise((told) => {
						const end = (isTaken: boolean): void => {
							clearTimeout(timer);
							waiting.delete(taken);
							told(isTaken);
						};
						const taken = (): boolean => {
							if (!take(more)) return false;
							end(true);
							return true;
						};
						const timer = setTimeout(() => end(false), longestWaitMs);
						waiting.add(taken);
						if (waiting.size === 1) taken();
					});
				resolve({ kind: "whole", bytes: chunks.bytes(), hold: { take, takeInTurn }, release });
			};
			const onLeft = (cause?: Error): void => {
				leave();
				release();
				const early = { code: "ERR_STREAM_PREMATURE_CLOSE" };
				reject(cause ?? Object.assign(new Error("The client left before the end of its body."), early));
			};
			const endEarly = (kind: "too_large" | "no_room" | "tiny_pieces"): void => {
				chunks.add(leave());
				resolve({
					kind,
					stream: () => bodyStream(request, { start: chunks.pieces(), onStartRead: release }),
					discard() {
						release();
						if (kind === "tiny_pieces") setTimeout(() => request.destroy(), tiny.goodbyeMilliseconds).unref();
						else drain(request);
					},
				});
			};
			const turns = takeTurns(request, (arrived, count) => {
				pieces += count;
				chunks.add(arrived);
				held += chunks.memory() - charged;
				charged = chunks.memory();
				if (chunks.length() > bytesOfOne) endEarly("too_large");
				else if (endsTinyPieces && isTiny(chunks.length(), pieces)) endEarly("tiny_pieces");
				else if (held > bytesOfAll) largestOf(arriving)?.endEarly("no_room");
				return arriving.has(body);
			});
			const body: Arriving = { memory: chunks.memory, endEarly };
			arriving.add(body);
			request.on("end", onEnd).on("error", onLeft).on("close", onLeft);
			if (Number(request.headers["content-length"]) > bytesOfOne) endEarly("too_large");
			else turns.more();
		});
	return { read };
}

function isTiny(bytes: number, pieces: number): boolean {
	return bytes > tiny.afterBytes && bytes < pieces * tiny.averageBytes;
}

/** Among equals the latest. A body that arrives slowly does not take the room of smaller ones. */
function largestOf(arriving: ReadonlySet<Arriving>): Arriving | undefined {
	let largest: Arriving | undefined;
	for (const one of arriving) if (!largest || one.memory() >= largest.memory()) largest = one;
	return largest;
}

/** A client that is cut off while it sends often does not see the answer. */
function drain(request: IncomingMessage): void {
	if (!request.readableEnded && !request.destroyed) takeTurns(request, () => true).more();
}

/** A body as a stream, its small pieces joined. `start` has been read already. Destroy it when no consumer reads it. */
export function bodyStream(
	request: IncomingMessage,
	{
		start = [],
		onStartRead = () => {},
	}: { readonly start?: readonly Buffer[]; readonly onStartRead?: () => void } = {},
): Readable {
	const rest = [...start];
	let turns: ReturnType<typeof takeTurns> | undefined;
	const begin = () => {
		turns = takeTurns(request, (arrived) => stream.push(arrived));
		request.on("end", () => stream.push(null));
		request.on("error", (error) => stream.destroy(error));
		request.on("close", () => request.readableEnded || stream.destroy());
		if (request.readableEnded) stream.push(null);
		else if (request.destroyed) stream.destroy();
		return turns;
	};
	const stream: Readable = new Readable({
		read() {
			const piece = rest.shift();
			if (rest.length === 0) onStartRead();
			if (piece) stream.push(piece);
			else (turns ?? begin()).more();
		},
		destroy(error, done) {
			onStartRead();
			turns?.end();
			drain(request);
			done(error);
		},
	});
	return stream;
}

/**
 * Calls `take` once a turn with what has arrived, joined, and the number of its pieces. Nothing is read before `more`, and
 * nothing more once `take` returns false, until `more` is called again.
 */
function takeTurns(request: IncomingMessage, take: (arrived: Buffer, pieces: number) => boolean) {
	let chunks = createJoinedChunks();
	let pieces = 0;
	let isOver = false;
	const arrived = (): Buffer => {
		const [first, another] = chunks.pieces();
		const joined = first && !another ? first : chunks.bytes();
		chunks = createJoinedChunks();
		pieces = 0;
		return joined;
	};
	const deliver = (): void => {
		if (isOver || pieces === 0) return;
		const count = pieces;
		if (!take(arrived(), count)) request.pause();
	};
	const onData = (piece: Buffer): void => {
		chunks.add(piece);
		pieces += 1;
		if (pieces === 1) setImmediate(deliver);
	};
	// Before the listeners of the caller.
	request.pause().on("data", onData).on("end", deliver);
	return {
		more: () => void request.resume(),
		/** Leaves the request paused, and returns what is not taken yet. */
		end(): Buffer {
			isOver = true;
			request.off("data", onData).off("end", deliver).pause();
			return arrived();
		},
	};
}

const mostPiecesInTurn = 1_000;

/** Most bytes that Node reads ahead of a request: tiny pieces of a body take hundreds of bytes each. */
export const mostReadAhead = 16 * 1024;

/**
 * Stops reading from the connection of a request when too many pieces of its body have arrived in a turn of the event loop,
 * so that others are answered between them. Node would read on as long as the client sends. Call it before a listener sees
 * the request.
 */
export function paceBody(request: IncomingMessage): void {
	const push = request.push.bind(request);
	const read = request._read.bind(request);
	let pieces = 0;
	let waiting: (() => void) | undefined;
	const endTurn = (): void => {
		pieces = 0;
		const goOn = waiting;
		waiting = undefined;
		goOn?.();
	};
	request.push = (...given) => {
		pieces += 1;
		if (pieces === 1) setImmediate(endTurn);
		// Node stops reading where this returns false, until `_read` is called.
		return push(...given) && pieces < mostPiecesInTurn;
	};
	request._read = (size) => {
		if (pieces < mostPiecesInTurn) read(size);
		else waiting = () => read(size);
	};
}

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
		/** Without the free part of the last block. */
		pieces: () => pieces.map((piece, index) => (index < pieces.length - 1 ? piece : withoutFree(piece, free.length))),
		/** A copy, whose memory nothing else shares. */
		bytes: () => Buffer.concat(pieces, length),
	};
}

function withoutFree(block: Buffer, free: number): Buffer {
	return block.subarray(0, block.length - free);
}
