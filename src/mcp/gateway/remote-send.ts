import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "../../engine/conversation/json.ts";
import { stringAt } from "../../formats/json-text/value.ts";
import { readEvents } from "./event-stream.ts";
import { bodyOf, kindOf, RefusedByGateway } from "./http-link.ts";
import { type ReadLine, type RequestId, readLine } from "./messages.ts";
import { bodyHeaders } from "./remote-headers.ts";
import { drop, type Remote, type RemoteParts, receive, refuse } from "./remote-state.ts";
import { followAnswers, listen, openOlderStream } from "./remote-streams.ts";

const goodbyeMs = 2_000;

/** Sends the host's messages to a server over HTTP, in their order where they build on each other. */
export function createSender(parts: RemoteParts) {
	const remote: Remote = {
		...parts,
		isAnswered: false,
		renewing: Promise.resolve(false),
		taken: Promise.resolve(),
		running: new Set(),
		cancellable: new Map(),
	};
	return {
		send(line: Buffer, read: ReadLine | undefined): void {
			if (cancels(remote, read)) return;
			const sent = remote.taken.then(() => sendNow(remote, line, read));
			if (idsOf(read).length === 0 || isInitialize(read)) remote.taken = sent;
			remote.running.add(sent);
			void sent.then(() => remote.running.delete(sent));
		},
		/** Waits a moment for answers, and ends the session. */
		async end(): Promise<void> {
			await Promise.race([Promise.all(remote.running), delay(goodbyeMs, undefined, { ref: false })]);
			if (remote.link.session() === undefined) return;
			const signal = AbortSignal.timeout(goodbyeMs);
			await remote.link.ask({ method: "DELETE", signal }).then(drop, () => {});
		},
	};
}

async function sendNow(remote: Remote, line: Buffer, read: ReadLine | undefined): Promise<void> {
	const ids = idsOf(read);
	const signal = signalFor(remote, read);
	try {
		let session = remote.link.session();
		let answer = await post(remote, line, read, signal);
		if (answer.statusCode === 404 && session !== undefined && (await renew(remote, session))) {
			drop(answer);
			session = remote.link.session();
			answer = await post(remote, line, read, signal);
		}
		remote.link.keepSession(answer, session);
		const { statusCode = 0 } = answer;
		if (statusCode < 200 || statusCode > 299) return await refuseBy(remote, answer, ids);
		remote.isAnswered = true;
		const kind = ids.length === 0 ? "other" : kindOf(answer);
		if (kind === "stream") await followAnswers(remote, answer, { ids, signal });
		else if (kind === "json") receive(remote, await bodyOf(answer));
		else drop(answer);
		if (isInitialize(read)) remote.opening = line;
		if (remote.olderPath === undefined && isInitialized(read)) {
			remote.initialized = line;
			void listen(remote);
		}
	} catch (error) {
		const { code, name, message } = error as NodeJS.ErrnoException;
		const isRefused = error instanceof RefusedByGateway;
		const reason = isRefused ? message : `The server at ${remote.url.origin} cannot be reached (${code ?? name}).`;
		if (!signal.aborted) refuse(remote, ids, reason);
	}
}

/**
 * A server has ended its session, so that it has not worked on the request. Begins a new one as the host did, which does
 * not notice. Returns whether there is a new one. Source: Streamable HTTP, session management.
 */
function renew(remote: Remote, ended: string): Promise<boolean> {
	if (remote.link.session() !== ended) return remote.renewing;
	remote.link.forgetSession();
	remote.renewing = begin(remote).catch(() => false);
	remote.taken = remote.renewing;
	return remote.renewing;
}

async function begin(remote: Remote): Promise<boolean> {
	if (remote.opening === undefined) return false;
	const { signal } = remote.gone;
	const headers = { "Content-Type": "application/json" };
	const answer = await remote.link.ask({ method: "POST", body: remote.opening, headers, signal });
	remote.link.keepSession(answer, undefined);
	const agreed = stringAt((await resultOf(remote, answer)) ?? {}, "protocolVersion");
	if (agreed === undefined) return false;
	remote.link.agreeOn(agreed);
	if (remote.initialized !== undefined)
		drop(await remote.link.ask({ method: "POST", body: remote.initialized, headers, signal }));
	void listen(remote);
	return true;
}

/** Of a request that the gateway sends itself, whose answer the host does not get. */
async function resultOf(remote: Remote, answer: IncomingMessage): Promise<JsonObject | undefined> {
	let result: JsonObject | undefined;
	const read = (message: Buffer): void => {
		for (const one of readLine(message)?.messages ?? []) {
			if (one.message.kind !== "response") remote.onMessage(message);
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
async function post(
	remote: Remote,
	body: Buffer,
	read: ReadLine | undefined,
	signal: AbortSignal,
): Promise<IncomingMessage> {
	const headers = { ...bodyHeaders(read, remote.gateway.toolNamed), "Content-Type": "application/json" };
	const answer = await remote.link.ask({ method: "POST", path: remote.olderPath, body, headers, signal });
	const isRefused = [400, 404, 405].includes(answer.statusCode ?? 0);
	if (!isRefused || remote.isAnswered || !isInitialize(read) || !(await openOlderStream(remote))) return answer;
	drop(answer);
	return remote.link.ask({ method: "POST", path: remote.olderPath, body, headers, signal });
}

function signalFor(remote: Remote, read: ReadLine | undefined): AbortSignal {
	const [only] = read?.messages ?? [];
	if (only?.message.kind !== "request" || !only.message.isNewer) return remote.gone.signal;
	const controller = new AbortController();
	remote.cancellable.set(only.message.id, controller);
	return AbortSignal.any([remote.gone.signal, controller.signal]);
}

function cancels(remote: Remote, read: ReadLine | undefined): boolean {
	const [only] = read?.messages ?? [];
	if (only?.message.kind !== "notification" || only.message.method !== "notifications/cancelled") return false;
	const { requestId } = only.message.params;
	const controller = remote.cancellable.get(requestId);
	controller?.abort();
	remote.cancellable.delete(requestId);
	return controller !== undefined;
}

/** Passes on an error of the protocol, and tells others in words. */
async function refuseBy(remote: Remote, answer: IncomingMessage, ids: readonly RequestId[]): Promise<void> {
	const { statusCode = 0 } = answer;
	const body = await bodyOf(answer);
	const messages = readLine(body)?.messages ?? [];
	const isOf = ({ message }: (typeof messages)[number]) =>
		message.kind === "response" && message.id !== undefined && ids.includes(message.id);
	if (messages.length > 0 && messages.every(isOf)) return receive(remote, body);
	const challenge = answer.headers["www-authenticate"];
	const message = `The server at ${remote.url.origin} answered with HTTP status ${statusCode}.${adviceFor(remote, statusCode)}`;
	// With it a host finds where to sign in (RFC 9728).
	refuse(remote, ids, message, { http_status: statusCode, ...(challenge && { www_authenticate: challenge }) });
}

function adviceFor(remote: Remote, statusCode: number): string {
	if (statusCode === 401 || statusCode === 403)
		return " Give its token: --header Authorization=VARIABLE, with the value in that variable of the environment.";
	return statusCode === 404 && remote.opening !== undefined
		? " Its session has ended. Start it again in the host."
		: "";
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
