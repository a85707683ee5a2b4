import type { IncomingMessage } from "node:http";
import { PalimpsestError } from "../../../errors.ts";

/**
 * Reads a request's body as JSON. Past the limit, in bytes, it stops keeping what comes: at once where Content-Length
 * says so, else as soon as more has come.
 *
 * @throws PalimpsestError `payload_too_large` or `invalid_json`; the stream's own error where the client went away.
 */
export async function readJsonBody(request: IncomingMessage, limitBytes: number): Promise<unknown> {
	const bytes = await readBytes(request, limitBytes);
	try {
		// Fatal, since a byte replaced by U+FFFD would change the conversation unseen.
		return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	} catch {
		throw new PalimpsestError("invalid_json", "Expected a body of JSON in UTF-8.");
	}
}

function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
	return new Promise((resolve, reject) => {
		let chunks: Buffer[] = [];
		let length = 0;
		const take = (chunk: Buffer): void => {
			length += chunk.length;
			if (length > limitBytes) tooLarge();
			else chunks.push(chunk);
		};
		const tooLarge = (): void => {
			const message = `Expected a body of at most ${limitBytes} bytes. Send a shorter conversation, or use the server on standard input and output.`;
			reject(new PalimpsestError("payload_too_large", message));
			// The rest is read and thrown away: a client that is cut off while it sends often does not see the answer.
			request.off("data", take);
			request.resume();
			chunks = [];
		};
		request.on("error", reject);
		request.on("close", () => reject(new Error("The client went away.")));
		if (Number(request.headers["content-length"]) > limitBytes) return tooLarge();
		request.on("end", () => resolve(Buffer.concat(chunks)));
		request.on("data", take);
	});
}
