import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { createJoinedChunks } from "../operations/http/body.ts";
import type { Environment } from "../operations/http/network-proxy.ts";
import { type OutgoingError, openConnection } from "../operations/http/outgoing.ts";
import { readableEncodings } from "./billing/read-usage.ts";
import { decodeBody } from "./body.ts";
import { upstreamPath } from "./routes.ts";

/** RFC 9110, section 7.6.1; `Expect` is answered by Node. */
const hopByHop = new Set([
	...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
	...["te", "trailer", "transfer-encoding", "upgrade", "expect"],
]);

export interface Asked {
	readonly method: string;
	readonly path: string;
	/** Names and values in turn, unchanged. */
	readonly rawHeaders: readonly string[];
	/** `decoded`: it no longer has the encoding that its headers name. */
	readonly body: { readonly bytes: Buffer; readonly decoded: boolean } | { readonly stream: Readable };
	/** Ends the request, also while its answer arrives. */
	readonly signal: AbortSignal;
}

export type Upstream = ReturnType<typeof connectTo>;

/**
 * Connections to one upstream, through the proxy of the network if there is one. They have no time-out: a model may think for
 * long. Throws as `openConnection` does.
 */
export function connectTo(base: URL, network?: Environment) {
	const connection = openConnection(base, { network });

	const askOnce = (asked: Asked): Promise<IncomingMessage> => {
		const { method, path, body, signal } = asked;
		const headers = requestHeaders(asked, base.host);
		const send = (sent: ClientRequest): void => {
			if ("bytes" in body) sent.end(body.bytes);
			else if (!hasContent(asked)) sent.end();
			else {
				body.stream.on("error", (error) => sent.destroy(error));
				body.stream.pipe(sent);
			}
		};
		// Redirects are passed back.
		const canSendAgain = isRepeatable(asked);
		return connection.ask({ method, path: upstreamPath(base, path), headers, signal, send, canSendAgain });
	};

	return {
		origin: base.origin,
		/** Resolves with the head of the answer. Rejects with an OutgoingError if the upstream cannot be reached. */
		async ask(asked: Asked): Promise<IncomingMessage> {
			try {
				return await askOnce(asked);
			} catch (error) {
				// The upstream closed a connection just as it was used again, as the documentation of `reusedSocket` describes, or
				// left bytes on it that belong to no answer. After such bytes only a request without content is repeated.
				const { code = "", wasReused, hasBegun = false } = error as OutgoingError;
				const isStale = (code === "ECONNRESET" && !hasBegun) || (code.startsWith("HPE_") && !hasContent(asked));
				const canRepeat = wasReused === true && isStale && isRepeatable(asked);
				if (!canRepeat || asked.signal.aborted) throw error;
				return askOnce(asked);
			}
		},
		close: connection.close,
	};
}

function isRepeatable(asked: Asked): boolean {
	return "bytes" in asked.body || !hasContent(asked);
}

function requestHeaders({ rawHeaders, body }: Asked, host: string): string[] {
	const kept = withoutHopByHop(rawHeaders, (name) => {
		if (name === "host") return false;
		if ("stream" in body) return true;
		return name !== "content-length" && !(body.decoded && name === "content-encoding");
	});
	const isChunked = "stream" in body && hasHeader(rawHeaders, "transfer-encoding");
	readableAnswers(kept);
	const length = "bytes" in body ? ["Content-Length", String(body.bytes.length)] : [];
	return ["Host", host, ...kept, ...length, ...(isChunked ? ["Transfer-Encoding", "chunked"] : [])];
}

/** Offers no encoding that hides the usage of an answer, unless a signature covers the header (Signature Version 4 of AWS). */
function readableAnswers(headers: string[]): void {
	const isSigned = headers.some((one, index) => index % 2 === 1 && /SignedHeaders=[^,]*\baccept-encoding\b/i.test(one));
	for (let at = 0; at + 1 < headers.length && !isSigned; at += 2)
		if (headers[at]?.toLowerCase() === "accept-encoding")
			headers[at + 1] = readableEncodings(headers[at + 1] as string);
}

/** RFC 9112, section 6.3: a request has content if one of these headers says so. */
function hasContent({ rawHeaders }: Asked): boolean {
	return hasHeader(rawHeaders, "content-length") || hasHeader(rawHeaders, "transfer-encoding");
}

function hasHeader(rawHeaders: readonly string[], name: string): boolean {
	return rawHeaders.some((one, index) => index % 2 === 0 && one.toLowerCase() === name);
}

/** RFC 9110, section 7.6.1: no sender may name it for one hop alone. Without it a body has no end. */
const framing = "content-length";

function withoutHopByHop(rawHeaders: readonly string[], keep: (name: string) => boolean = () => true): string[] {
	const named = new Set(hopByHop);
	const pairs: [string, string][] = [];
	for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
		const [name, value] = [rawHeaders[at] as string, rawHeaders[at + 1] as string];
		if (name.toLowerCase() === "connection") {
			for (const option of value.split(",")) named.add(option.trim().toLowerCase());
		}
		pairs.push([name, value]);
	}
	named.delete(framing);
	return pairs.filter(([name]) => !named.has(name.toLowerCase()) && keep(name.toLowerCase())).flat();
}

/** `broken`: the upstream ended its answer too early. */
type Passed = "whole" | "broken" | "client_left";

/** Passes an answer on as it arrives. `observe` sees each piece of the body; it must not throw. */
export function passOn(
	answer: IncomingMessage,
	response: ServerResponse,
	observe?: (piece: Buffer) => void,
): Promise<Passed> {
	const { statusCode = 502, statusMessage = "", rawHeaders, headersDistinct } = answer;
	response.sendDate = false;
	// Node reads control characters in a reason, but does not write them.
	const reason = /^[\t\x20-\x7e\x80-\xff]*$/.test(statusMessage) ? statusMessage : undefined;
	const sandbox = isShownByBrowsers(headersDistinct["content-type"]) ? ["Content-Security-Policy", "sandbox"] : [];
	response.writeHead(statusCode, reason, [...withoutHopByHop(rawHeaders), ...sandbox]);
	response.flushHeaders();
	if (observe) answer.on("data", observe);
	return new Promise((resolve) => {
		answer.on("error", () => {
			response.destroy();
			resolve("broken");
		});
		response.on("close", () => {
			resolve(response.writableFinished ? "whole" : "client_left");
			answer.destroy();
		});
		response.on("error", () => {});
		answer.pipe(response);
	});
}

/** Such a document could read our own pages, which have the same origin. A sandbox gives it another one, without scripts. */
function isShownByBrowsers(types: readonly string[] = []): boolean {
	const [type = "", another] = types;
	return another !== undefined || !/^(?:application\/(?:[\w.-]+\+)?json|text\/event-stream) *(?:;[^,]*)?$/i.test(type);
}

/** The largest refusal that is read. */
const mostHeldBytes = 1024 * 1024;

/** Reads an answer to its end, so that it can be looked at, and passed on later or never. */
export async function heldAnswer(answer: IncomingMessage) {
	const chunks = createJoinedChunks();
	try {
		for await (const piece of answer as AsyncIterable<Buffer>) {
			if (chunks.length() < mostHeldBytes) chunks.add(piece);
		}
	} catch {
		// The client sees the part that has arrived.
	}
	const { statusCode, statusMessage, rawHeaders, headers, headersDistinct } = answer;
	const body = chunks.bytes();
	const decoded = await decodeBody(body, headers["content-encoding"], mostHeldBytes);
	return {
		headers,
		text: (typeof decoded === "string" ? body : decoded).toString("utf8"),
		/** The same answer. */
		again(): IncomingMessage {
			return Object.assign(Readable.from([body]), {
				statusCode,
				statusMessage,
				rawHeaders,
				headers,
				headersDistinct,
			}) as IncomingMessage;
		},
	};
}
