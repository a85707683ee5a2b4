import type { IncomingMessage } from "node:http";
import { PalimpsestError } from "../../../errors.ts";
import { readBody } from "../../pool/read-body.ts";

/** Reads the bodies of one server's requests. */
export interface BodyReader {
	/**
	 * Reads a request's body as JSON. Past the limit it stops keeping what comes: at once where Content-Length says so,
	 * else as soon as more has come.
	 *
	 * @throws PalimpsestError `payload_too_large` or `invalid_json`; `rate_limit` where all bodies together take too much;
	 * the stream's own error where the client went away.
	 */
	read(request: IncomingMessage): Promise<unknown>;
}

/** Most that is taken, in bytes: of one body, and of all that come at the same time. */
export interface BodyLimits {
	readonly bytesOfOne: number;
	readonly bytesOfAll: number;
	/** Whether large arguments of calls are left to the threads that work on them. */
	readonly holdsArguments?: boolean;
}

/** Makes a reader that holds so much at most, however many clients send at the same time, and however slowly. */
export function createBodyReader({ bytesOfOne, bytesOfAll, holdsArguments = false }: BodyLimits): BodyReader {
	let held = 0;

	const readBytes = (request: IncomingMessage): Promise<Buffer> =>
		new Promise((resolve, reject) => {
			let chunks: Buffer[] = [];
			let length = 0;
			const take = (chunk: Buffer): void => {
				length += chunk.length;
				held += chunk.length;
				if (length > bytesOfOne) refuse(tooLarge(bytesOfOne));
				else if (held > bytesOfAll) refuse(busy());
				else chunks.push(chunk);
			};
			const letGo = (): void => {
				held -= length;
				length = 0;
			};
			const refuse = (error: PalimpsestError): void => {
				reject(error);
				// The rest is read and thrown away: a client that is cut off while it sends often does not see the answer.
				request.off("data", take);
				request.resume();
				chunks = [];
				letGo();
			};
			request.on("error", reject);
			request.on("close", () => {
				letGo();
				reject(new Error("The client went away."));
			});
			if (Number(request.headers["content-length"]) > bytesOfOne) return refuse(tooLarge(bytesOfOne));
			request.on("end", () => {
				const bytes = Buffer.concat(chunks);
				// The listeners live as long as the request, which lives as long as its answer.
				chunks = [];
				letGo();
				resolve(bytes);
			});
			request.on("data", take);
		});

	return {
		async read(request) {
			return readBody(await readBytes(request), holdsArguments);
		},
	};
}

function tooLarge(limit: number): PalimpsestError {
	const message = `Expected a body of at most ${limit} bytes. Send a shorter conversation, or use the server on standard input and output.`;
	return new PalimpsestError("payload_too_large", message);
}

function busy(): PalimpsestError {
	return new PalimpsestError("rate_limit", "Too many large requests come at the same time. Try again in a moment.");
}
