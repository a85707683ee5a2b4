import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { connectTo } from "../../proxy/forward.ts";

interface HttpRequest {
	readonly method: "POST" | "GET" | "DELETE";
	/** In place of the server's own. */
	readonly path?: string | undefined;
	readonly body?: Buffer;
	readonly headers?: Readonly<Record<string, string>>;
	readonly signal: AbortSignal;
}

/** In turn, for one request. */
const mostRedirects = 5;

/** An answer of the server that the gateway does not accept. The host reads the message. */
export class RefusedByGateway extends Error {}

export type HttpLink = ReturnType<typeof createHttpLink>;

/** Requests to one MCP server, with its session. There is no time-out: a tool may work for long. */
export function createHttpLink(url: URL, ownHeaders: Readonly<Record<string, string>>) {
	const upstream = connectTo(new URL(url.origin));
	let ownPath = url.pathname + url.search;
	let session: string | undefined;
	let revision: string | undefined;

	const askAt = (path: string, { method, body, headers: given, signal }: HttpRequest): Promise<IncomingMessage> => {
		const headers = {
			Accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
			...(session !== undefined && { "Mcp-Session-Id": session }),
			...(revision !== undefined && { "MCP-Protocol-Version": revision }),
			...given,
			...ownHeaders,
		};
		return upstream.ask({
			method,
			path,
			rawHeaders: Object.entries(headers).flat(),
			body: body ? { bytes: body, decoded: false } : { stream: Readable.from([]) },
			signal,
		});
	};
	/** Throws RefusedByGateway for redirects that lead nowhere, and as a connection does. */
	const ask = async (asked: HttpRequest): Promise<IncomingMessage> => {
		let path = asked.path ?? ownPath;
		let isForGood = true;
		for (let redirects = 0; ; redirects += 1) {
			const answer = await askAt(path, asked);
			const moved = redirectWithin(new URL(path, url), answer);
			if (moved === undefined || moved === path) {
				// Only a place that has moved for good and takes messages is asked from then on (RFC 9110, 15.4.9).
				const { statusCode = 0 } = answer;
				if (asked.path === undefined && asked.method === "POST" && isForGood && statusCode < 300) ownPath = path;
				return answer;
			}
			isForGood &&= answer.statusCode === 308;
			answer.resume();
			const places = `${url.origin}${path} leads to ${url.origin}${moved}`;
			if (redirects === mostRedirects) throw new RefusedByGateway(`The server redirects without end: ${places}.`);
			path = moved;
		}
	};
	return {
		ask,
		/** The session of the next request; a session that has ended is forgotten. */
		session: () => session,
		forgetSession(): void {
			session = undefined;
			revision = undefined;
		},
		/** Keeps the session that an answer names, which was asked in another one or in none. */
		keepSession(answer: IncomingMessage, asked: string | undefined): void {
			// A late answer of a session that has ended does not bring it back.
			if (session === asked || session === undefined) session = headerOf(answer, "mcp-session-id") ?? session;
		},
		/** The revision that was agreed on; later requests name it. */
		agreeOn(agreed: string): void {
			revision = agreed;
		},
		close: () => upstream.close(),
	};
}

/** The place to which the server sends the same request; `undefined` if it is none, or on another server. */
function redirectWithin(url: URL, { statusCode, headers }: IncomingMessage): string | undefined {
	if ((statusCode !== 307 && statusCode !== 308) || headers.location === undefined) return undefined;
	const place = URL.canParse(headers.location, url.href) ? new URL(headers.location, url) : undefined;
	return place?.origin === url.origin ? place.pathname + place.search : undefined;
}

export type AnswerKind = "stream" | "json" | "other";

export function kindOf(answer: IncomingMessage): AnswerKind {
	const type = headerOf(answer, "content-type") ?? "";
	if (/^text\/event-stream\b/i.test(type)) return "stream";
	return /^application\/json\b/i.test(type) ? "json" : "other";
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
	const value = headers[name];
	return typeof value === "string" ? value : undefined;
}

/** In bytes of one answer. */
const mostHeld = 256 * 1024 * 1024;

export async function bodyOf(answer: IncomingMessage): Promise<Buffer> {
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of answer) {
		bytes += piece.length;
		if (bytes > mostHeld) throw new RefusedByGateway("The answer of the server is over 256 MiB.");
		pieces.push(piece);
	}
	return Buffer.concat(pieces, bytes);
}
