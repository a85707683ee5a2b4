import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { SummariserError } from "../errors.ts";
import { readErrorFields } from "./error-fields.ts";

/** What the client asks of a `fetch`. */
type FetchInput = string | URL | Request;

/** A `fetch` whose connections stay open between requests until it is closed. */
export interface HttpFetch {
	/**
	 * Sends a request and reads the whole answer. Redirects are not followed: they would carry the conversation to a host
	 * that nobody named. Of an answer that is no success, only the fields made for programs are handed on, so that no
	 * error of the client can hold what an endpoint echoes: the key, or the conversation.
	 *
	 * @throws SummariserError `server_error` where the connection fails or breaks off, `unknown` for a body over the limit.
	 */
	readonly fetch: (input: FetchInput, init?: RequestInit) => Promise<Response>;
	/** Ends requests under way and all connections. */
	readonly close: () => void;
}

/** Milliseconds after which an idle connection is closed; servers commonly wait 5 s. */
const idleMs = 4_000;
/** The client adds what the environment holds for other endpoints, and what machine it runs on: not to be told. */
const sentHeaders = new Set(["accept", "authorization", "content-type", "user-agent"]);
/** Statuses whose answers have no body. */
const withoutBody = new Set([204, 205, 304]);

/** Makes a `fetch` of its own connections. The global one shares them with the whole process and cannot be closed. */
export function createHttpFetch({ largestBody }: { readonly largestBody: number }): HttpFetch {
	const options = { keepAlive: true, timeout: idleMs };
	const agents = { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };

	const send = (url: URL, init: RequestInit): Promise<IncomingMessage> =>
		new Promise((resolve, reject) => {
			const isPlain = url.protocol === "http:";
			const body = typeof init.body === "string" ? Buffer.from(init.body) : undefined;
			const headers = Object.fromEntries([...new Headers(init.headers)].filter(([name]) => sentHeaders.has(name)));
			if (body) headers["content-length"] = String(body.length);
			const request = (isPlain ? httpRequest : httpsRequest)(url, {
				method: init.method ?? "GET",
				headers,
				agent: agents[isPlain ? "http:" : "https:"],
				...(init.signal ? { signal: init.signal } : {}),
			});
			request.on("response", resolve).on("error", reject);
			request.end(body);
		});

	return {
		async fetch(input, init = {}) {
			const url = new URL(input instanceof Request ? input.url : input);
			try {
				const response = await send(url, init);
				const body = await readBody(response, largestBody);
				const status = response.statusCode ?? 0;
				const headers = headersOf(response);
				if (withoutBody.has(status)) return new Response(null, { status, headers });
				const isSuccess = status >= 200 && status < 300;
				const handedOn = isSuccess ? body : JSON.stringify({ error: readErrorFields(body.toString()) });
				return new Response(handedOn, { status, headers });
			} catch (error) {
				throw error instanceof SummariserError ? error : disconnected(url, error);
			}
		},
		close() {
			for (const agent of Object.values(agents)) agent.destroy();
		},
	};
}

async function readBody(response: IncomingMessage, largest: number): Promise<Buffer<ArrayBuffer>> {
	const pieces: Buffer[] = [];
	let bytes = 0;
	for await (const piece of response as AsyncIterable<Buffer>) {
		bytes += piece.length;
		if (bytes > largest) {
			response.destroy();
			const message = `The model's endpoint answers with more than ${largest} bytes, which is no summary.`;
			throw new SummariserError("unknown", message, response.statusCode);
		}
		pieces.push(piece);
	}
	return Buffer.concat(pieces);
}

function headersOf(response: IncomingMessage): Headers {
	const headers = new Headers();
	const retryAfter = response.headers["retry-after"];
	if (retryAfter !== undefined) headers.set("retry-after", retryAfter);
	// Some endpoints call their JSON plain text, which the client would then hand on unread.
	headers.set("content-type", "application/json");
	return headers;
}

function disconnected(url: URL, error: unknown): SummariserError {
	const { code } = error as NodeJS.ErrnoException;
	const reason = typeof code === "string" && /^[A-Z_]{1,40}$/.test(code) ? ` (${code})` : "";
	const message = `The connection to ${url.origin} failed or broke off${reason}. Check the base URL, and that the endpoint runs.`;
	return new SummariserError("server_error", message);
}
