import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "../../engine/conversation/json.ts";
import { stringAt } from "../../formats/json-text/value.ts";
import type { Log } from "../../log.ts";
import { createByteLineReader, findRequestId, type OversizedLine } from "../stdio-lines.ts";
import { type HostStreams, largestMessage, noteUnread, waitForHost } from "./child.ts";
import { pauseMs, readEvents, type StreamState } from "./event-stream.ts";
import { createGateway, type Gateway } from "./gateway.ts";
import { errorLine, type GatewayOptions } from "./gateway-state.ts";
import { bodyOf, createHttpLink, type HttpLink, kindOf, RefusedByGateway } from "./http-link.ts";
import { type ReadLine, type RequestId, readLine } from "./messages.ts";
import { createHostOutput } from "./output.ts";
import { bodyHeaders } from "./remote-headers.ts";

const goodbyeMs = 2_000;
/** Times that a stream is taken up again although it brings nothing new. */
const mostTries = 5;
const invalidRequest = -32_600;

/**
 * Passes messages between a host and a server over Streamable HTTP, or over HTTP with SSE. Resolves when the host has ended
 * its input, or the stream of HTTP with SSE has ended. Source: https://modelcontextprotocol.io/specification (transports).
 */
export async function serveRemote(
	url: URL,
	{ input, output }: HostStreams,
	options: Omit<GatewayOptions, "toHost" | "toServer"> & { readonly headers: Readonly<Record<string, string>> },
): Promise<void> {
	const { log } = options;
	const toHost = createHostOutput((bytes) => {
		output.write(bytes);
	});
	const link = createHttpLink(url, options.headers);
	const gone = new AbortController();
	const gateway: Gateway = createGateway({ ...options, toHost, toServer: (line, read) => sender.send(line, read) });
	const ended = new Promise<void>((resolve) => {
		gone.signal.addEventListener("abort", () => resolve());
		for (const event of ["end", "error", "close"]) input.once(event, () => resolve());
		output.once("error", () => resolve());
	});
	const sender = createSender({ url, link, gateway, log, gone, onMessage: receive });
	const reader = createByteLineReader({ largest: largestMessage, onLine: gateway.fromHost, onOversized: refuseLarge });
	input.on("data", reader.read);
	await ended;
	await sender.end();
	gone.abort();
	link.close();
	gateway.end(`The connection to ${url.origin} has ended.`);
	await toHost.settled();
	await waitForHost(output);

	function receive(message: Buffer): void {
		const line = oneLine(message);
		if (line.length <= largestMessage) gateway.fromServer(line);
		else {
			toHost.line(line);
			noteUnread(log, line.length);
		}
	}

	function refuseLarge(line: OversizedLine): void {
		const id = findRequestId(line);
		const message = `A message of ${line.bytes} bytes is over the ${largestMessage} that are sent over HTTP.`;
		if (id !== undefined) toHost.line(errorLine(id, { code: invalidRequest, message }));
	}
}

interface SenderParts {
	readonly url: URL;
	readonly link: HttpLink;
	readonly gateway: Pick<Gateway, "isOpen" | "refuse" | "toolNamed">;
	readonly log: Log;
	/** Ends everything. */
	readonly gone: AbortController;
	readonly onMessage: (message: Buffer) => void;
}

export function createSender({ url, link, gateway, log, gone, onMessage }: SenderParts) {
	/** The place for messages, of HTTP with SSE. */
	let olderPath: string | undefined;
	let isAnswered = false;
	/** The messages by which the host began its session. */
	let opening: Buffer | undefined;
	let initialized: Buffer | undefined;
	let renewing: Promise<boolean> = Promise.resolve(false);
	/** Resolves when the server has taken the handshake and the last notification: what follows may build on them. */
	let taken: Promise<unknown> = Promise.resolve();
	const running = new Set<Promise<void>>();
	/** Requests of revision 2026-07-28, which are cancelled by the end of their stream. */
	const cancellable = new Map<unknown, AbortController>();

	return {
		send(line: Buffer, read: ReadLine | undefined): void {
			if (cancels(read)) return;
			const sent = taken.then(() => sendNow(line, read));
			if (idsOf(read).length === 0 || isInitialize(read)) taken = sent;
			running.add(sent);
			void sent.then(() => running.delete(sent));
		},
		/** Waits a moment for answers, and ends the session. */
		async end(): Promise<void> {
			await Promise.race([Promise.all(running), delay(goodbyeMs, undefined, { ref: false })]);
			if (link.session() === undefined) return;
			const signal = AbortSignal.timeout(goodbyeMs);
			await link.ask({ method: "DELETE", signal }).then(drop, () => {});
		},
	};

	async function sendNow(line: Buffer, read: ReadLine | undefined): Promise<void> {
		const ids = idsOf(read);
		const signal = signalFor(read);
		try {
			let session = link.session();
			let answer = await post(line, read, signal);
			if (answer.statusCode === 404 && session !== undefined && (await renew(session))) {
				drop(answer);
				session = link.session();
				answer = await post(line, read, signal);
			}
			link.keepSession(answer, session);
			const { statusCode = 0 } = answer;
			if (statusCode < 200 || statusCode > 299) return await refuseBy(answer, ids);
			isAnswered = true;
			const kind = ids.length === 0 ? "other" : kindOf(answer);
			if (kind === "stream") await followAnswers(answer, { ids, signal });
			else if (kind === "json") receive(await bodyOf(answer));
			else drop(answer);
			if (isInitialize(read)) opening = line;
			if (olderPath === undefined && isInitialized(read)) {
				initialized = line;
				void listen();
			}
		} catch (error) {
			const { code, name, message } = error as NodeJS.ErrnoException;
			const isRefused = error instanceof RefusedByGateway;
			const reason = isRefused ? message : `The server at ${url.origin} cannot be reached (${code ?? name}).`;
			if (!signal.aborted) refuse(ids, reason);
		}
	}

	/**
	 * A server has ended its session, so that it has not worked on the request. Begins a new one as the host did, which does
	 * not notice. Returns whether there is a new one. Source: Streamable HTTP, session management.
	 */
	function renew(ended: string): Promise<boolean> {
		if (link.session() !== ended) return renewing;
		link.forgetSession();
		renewing = begin().catch(() => false);
		taken = renewing;
		return renewing;
	}

	async function begin(): Promise<boolean> {
		if (opening === undefined) return false;
		const { signal } = gone;
		const headers = { "Content-Type": "application/json" };
		const answer = await link.ask({ method: "POST", body: opening, headers, signal });
		link.keepSession(answer, undefined);
		const agreed = stringAt((await resultOf(answer)) ?? {}, "protocolVersion");
		if (agreed === undefined) return false;
		link.agreeOn(agreed);
		if (initialized !== undefined) drop(await link.ask({ method: "POST", body: initialized, headers, signal }));
		void listen();
		return true;
	}

	/** Of a request that the gateway sends itself, whose answer the host does not get. */
	async function resultOf(answer: IncomingMessage): Promise<JsonObject | undefined> {
		let result: JsonObject | undefined;
		const read = (message: Buffer): void => {
			for (const one of readLine(message)?.messages ?? []) {
				if (one.message.kind !== "response") onMessage(message);
				else result ??= one.message.result ?? {};
			}
			if (result) answer.destroy();
		};
		if (kindOf(answer) === "stream") await readEvents(answer, { state: {}, onMessage: read });
		else if (kindOf(answer) === "json") read(await bodyOf(answer));
		else drop(answer);
		return result;
	}

	/** A server of HTTP with SSE refuses the first message: it needs a stream first. */
	async function post(body: Buffer, read: ReadLine | undefined, signal: AbortSignal): Promise<IncomingMessage> {
		const headers = { ...bodyHeaders(read, gateway.toolNamed), "Content-Type": "application/json" };
		const answer = await link.ask({ method: "POST", path: olderPath, body, headers, signal });
		const isRefused = [400, 404, 405].includes(answer.statusCode ?? 0);
		if (!isRefused || isAnswered || !isInitialize(read) || !(await openOlderStream())) return answer;
		drop(answer);
		return link.ask({ method: "POST", path: olderPath, body, headers, signal });
	}

	function signalFor(read: ReadLine | undefined): AbortSignal {
		const [only] = read?.messages ?? [];
		if (only?.message.kind !== "request" || !only.message.isNewer) return gone.signal;
		const controller = new AbortController();
		cancellable.set(only.message.id, controller);
		return AbortSignal.any([gone.signal, controller.signal]);
	}

	function cancels(read: ReadLine | undefined): boolean {
		const [only] = read?.messages ?? [];
		if (only?.message.kind !== "notification" || only.message.method !== "notifications/cancelled") return false;
		const { requestId } = only.message.params;
		const controller = cancellable.get(requestId);
		controller?.abort();
		cancellable.delete(requestId);
		return controller !== undefined;
	}

	function receive(message: Buffer): void {
		const read = message.includes('"protocolVersion"') ? readLine(message) : undefined;
		for (const one of read?.messages ?? []) {
			if (one.message.kind !== "response") continue;
			const agreed = stringAt(one.message.result ?? {}, "protocolVersion");
			if (agreed !== undefined) link.agreeOn(agreed);
		}
		onMessage(message);
	}

	/** Passes on an error of the protocol, and tells others in words. */
	async function refuseBy(answer: IncomingMessage, ids: readonly RequestId[]): Promise<void> {
		const { statusCode = 0 } = answer;
		const body = await bodyOf(answer);
		const messages = readLine(body)?.messages ?? [];
		const isOf = ({ message }: (typeof messages)[number]) =>
			message.kind === "response" && message.id !== undefined && ids.includes(message.id);
		if (messages.length > 0 && messages.every(isOf)) return receive(body);
		const challenge = answer.headers["www-authenticate"];
		const message = `The server at ${url.origin} answered with HTTP status ${statusCode}.${adviceFor(statusCode)}`;
		// With it a host finds where to sign in (RFC 9728).
		refuse(ids, message, { http_status: statusCode, ...(challenge && { www_authenticate: challenge }) });
	}

	function adviceFor(statusCode: number): string {
		if (statusCode === 401 || statusCode === 403)
			return " Give its token: --header Authorization=VARIABLE, with the value in that variable of the environment.";
		return statusCode === 404 && opening !== undefined ? " Its session has ended. Start it again in the host." : "";
	}

	function refuse(ids: readonly RequestId[], message: string, data?: JsonObject): void {
		if (ids.length === 0) log({ level: "warning", message, data: { event: "not_delivered", server: url.origin } });
		for (const id of ids) gateway.refuse(id, { message, ...(data && { data }) });
	}

	/** Reads answers until all have come. A stream that ends before is taken up again if its events have ids. */
	async function followAnswers(
		answer: IncomingMessage,
		{ ids, signal }: { readonly ids: readonly RequestId[]; readonly signal: AbortSignal },
	): Promise<void> {
		const isDone = () => signal.aborted || !ids.some(gateway.isOpen);
		const state: StreamState = {};
		await readEvents(answer, { state, onMessage: receive });
		const canGoOn = () => !isDone() && state.lastId !== undefined && !state.isTooLarge;
		for (let tries = 0; tries < mostTries && canGoOn(); ) {
			const again = await takeUp(state, { tries, signal });
			tries = again && (await readEvents(again, { state, onMessage: receive })) ? 0 : tries + 1;
		}
		for (const id of ids) cancellable.delete(id);
		if (signal.aborted) return;
		const reason = state.isTooLarge
			? `The server at ${url.origin} sent an event that is too large to be read.`
			: `The connection to ${url.origin} ended before the answer.`;
		for (const id of ids) gateway.refuse(id, { message: reason });
	}

	/** Waits, then asks for the rest of a stream. */
	async function takeUp(
		{ lastId, retryMs }: StreamState,
		{ tries, signal }: { readonly tries: number; readonly signal: AbortSignal },
	): Promise<IncomingMessage | undefined> {
		const session = link.session();
		await delay(pauseMs(tries, retryMs), undefined, { signal, ref: false }).catch(() => {});
		if (signal.aborted || session !== link.session()) return undefined;
		return openStream(signal, lastId === undefined ? {} : { "Last-Event-ID": lastId });
	}

	async function openStream(
		signal: AbortSignal,
		headers: Readonly<Record<string, string>> = {},
	): Promise<IncomingMessage | undefined> {
		const answer = await link.ask({ method: "GET", headers, signal }).catch(() => undefined);
		if (answer?.statusCode === 200 && kindOf(answer) === "stream") return answer;
		if (answer) drop(answer);
		return undefined;
	}

	/** Reads what the server sends on its own, in one session. It need not offer that. */
	async function listen(): Promise<void> {
		const { signal } = gone;
		const session = link.session();
		const state: StreamState = {};
		let stream = await openStream(signal);
		for (let tries = 0; stream && session === link.session(); ) {
			tries = (await readEvents(stream, { state, onMessage: receive })) ? 0 : tries + 1;
			if (state.isTooLarge) return;
			do stream = await takeUp(state, { tries, signal });
			while (!stream && !signal.aborted && session === link.session() && ++tries < mostTries);
		}
	}

	async function openOlderStream(): Promise<boolean> {
		const stream = await openStream(gone.signal);
		if (!stream) return false;
		return new Promise((resolve) => {
			const onEndpoint = (address: string): void => {
				const place = URL.canParse(address, url.href) ? new URL(address, url) : undefined;
				// No other server may get the messages.
				const isOwn = place?.origin === url.origin;
				if (isOwn) olderPath = place.pathname + place.search;
				else stream.destroy();
				resolve(isOwn);
			};
			void readEvents(stream, { state: {}, onMessage: receive, onEndpoint }).then(() => {
				resolve(false);
				if (olderPath !== undefined) gone.abort();
			});
		});
	}
}

const drop = (answer: IncomingMessage): void => void answer.resume();

/** Between the values of JSON a line end is a blank; inside them it is escaped. */
function oneLine(message: Buffer): Buffer {
	if (!message.includes("\n") && !message.includes("\r")) return message;
	return Buffer.from(message.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)));
}

function idsOf(read: ReadLine | undefined): readonly RequestId[] {
	return (read?.messages ?? []).flatMap(({ message }) => (message.kind === "request" ? [message.id] : []));
}

function isInitialize(read: ReadLine | undefined): boolean {
	return hasMethod(read, "initialize");
}

function isInitialized(read: ReadLine | undefined): boolean {
	return hasMethod(read, "notifications/initialized");
}

function hasMethod(read: ReadLine | undefined, method: string): boolean {
	return (read?.messages ?? []).some(({ message }) => "method" in message && message.method === method);
}
