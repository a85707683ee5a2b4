import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { pauseMs, readEvents, type StreamState } from "./event-stream.ts";
import { kindOf } from "./http-link.ts";
import type { RequestId } from "./messages.ts";
import { drop, type Remote, receive } from "./remote-state.ts";

/** Times that a stream is taken up again although it brings nothing new. */
const mostTries = 5;

/** Reads answers until all have come. A stream that ends before is taken up again if its events have ids. */
export async function followAnswers(
	remote: Remote,
	answer: IncomingMessage,
	{ ids, signal }: { readonly ids: readonly RequestId[]; readonly signal: AbortSignal },
): Promise<void> {
	const isDone = () => signal.aborted || !ids.some(remote.gateway.isOpen);
	const state: StreamState = {};
	await readEvents(answer, { state, onMessage: (message) => receive(remote, message) });
	const canGoOn = () => !isDone() && state.lastId !== undefined && !state.isTooLarge;
	for (let tries = 0; tries < mostTries && canGoOn(); ) {
		const again = await takeUp(remote, state, { tries, signal });
		tries =
			again && (await readEvents(again, { state, onMessage: (message) => receive(remote, message) })) ? 0 : tries + 1;
	}
	for (const id of ids) remote.cancellable.delete(id);
	if (signal.aborted) return;
	const reason = state.isTooLarge
		? `The server at ${remote.url.origin} sent an event that is too large to be read.`
		: `The connection to ${remote.url.origin} ended before the answer.`;
	for (const id of ids) remote.gateway.refuse(id, { message: reason });
}

/** Reads what the server sends on its own, in one session. It need not offer that. */
export async function listen(remote: Remote): Promise<void> {
	const { signal } = remote.gone;
	const session = remote.link.session();
	const state: StreamState = {};
	let stream = await openStream(remote, signal);
	for (let tries = 0; stream && session === remote.link.session(); ) {
		tries = (await readEvents(stream, { state, onMessage: (message) => receive(remote, message) })) ? 0 : tries + 1;
		if (state.isTooLarge) return;
		do stream = await takeUp(remote, state, { tries, signal });
		while (!stream && !signal.aborted && session === remote.link.session() && ++tries < mostTries);
	}
}

/** Opens the stream of HTTP with SSE, which names the place for messages. Returns whether the server has it. */
export async function openOlderStream(remote: Remote): Promise<boolean> {
	const stream = await openStream(remote, remote.gone.signal);
	if (!stream) return false;
	return new Promise((resolve) => {
		const onEndpoint = (address: string): void => {
			const place = URL.canParse(address, remote.url.href) ? new URL(address, remote.url) : undefined;
			// No other server may get the messages.
			const isOwn = place?.origin === remote.url.origin;
			if (isOwn) remote.olderPath = place.pathname + place.search;
			else stream.destroy();
			resolve(isOwn);
		};
		void readEvents(stream, { state: {}, onMessage: (message) => receive(remote, message), onEndpoint }).then(() => {
			resolve(false);
			if (remote.olderPath !== undefined) remote.gone.abort();
		});
	});
}

/** Waits, then asks for the rest of a stream. */
async function takeUp(
	remote: Remote,
	{ lastId, retryMs }: StreamState,
	{ tries, signal }: { readonly tries: number; readonly signal: AbortSignal },
): Promise<IncomingMessage | undefined> {
	const session = remote.link.session();
	await delay(pauseMs(tries, retryMs), undefined, { signal, ref: false }).catch(() => {});
	if (signal.aborted || session !== remote.link.session()) return undefined;
	return openStream(remote, signal, lastId === undefined ? {} : { "Last-Event-ID": lastId });
}

async function openStream(
	remote: Remote,
	signal: AbortSignal,
	headers: Readonly<Record<string, string>> = {},
): Promise<IncomingMessage | undefined> {
	const answer = await remote.link.ask({ method: "GET", headers, signal }).catch(() => undefined);
	if (answer?.statusCode === 200 && kindOf(answer) === "stream") return answer;
	if (answer) drop(answer);
	return undefined;
}
