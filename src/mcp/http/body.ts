import type { IncomingMessage } from "node:http";
import { PalimpsestError } from "../../errors.ts";
import { createJoinedChunks } from "../chunks.ts";
import { readBody } from "../pool/arguments.ts";

export type BodyReader = ReturnType<typeof createBodyReader>;

/** Makes a reader that never holds more memory than the limit, however many clients send, in chunks of any size. */
export function createBodyReader(limits: {
	readonly bytesOfOne: number;
	readonly bytesOfAll: number;
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
				else if (held > bytesOfAll) refuse(new PalimpsestError("rate_limit", tooMany));
			};
			const letGo = (): void => {
				// The listeners live until the request is answered.
				chunks = createJoinedChunks();
				charge();
			};
			const refuse = (error: PalimpsestError): void => {
				reject(error);
				// The rest is discarded: a client that is cut off while it sends often does not see the answer.
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
		/** Throws as `readBody`, `payload_too_large`, `rate_limit` for all bodies together, and if the client left. */
		read: async (request: IncomingMessage): Promise<unknown> => readBody(await readBytes(request), holdsArguments),
	};
}

const tooMany = "Too many large requests come at the same time. Try again in a moment.";

function tooLarge(limit: number): PalimpsestError {
	const message = `Expected a body of at most ${limit} bytes. Send a shorter conversation, or use the server on standard input and output.`;
	return new PalimpsestError("payload_too_large", message);
}
