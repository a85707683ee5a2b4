import type { IncomingMessage } from "node:http";
import type { JsonObject } from "../../engine/conversation/json.ts";
import { stringAt } from "../../formats/json-text/value.ts";
import type { Log } from "../../log.ts";
import type { Gateway } from "./gateway.ts";
import type { HttpLink } from "./http-link.ts";
import { type RequestId, readLine } from "./messages.ts";

export interface RemoteParts {
	readonly url: URL;
	readonly link: HttpLink;
	readonly gateway: Pick<Gateway, "isOpen" | "refuse" | "toolNamed">;
	readonly log: Log;
	/** Ends everything. */
	readonly gone: AbortController;
	readonly onMessage: (message: Buffer) => void;
}

/** A connection to a server over HTTP. */
export interface Remote extends RemoteParts {
	/** The place for messages, of HTTP with SSE. */
	olderPath?: string;
	isAnswered: boolean;
	/** The messages by which the host began its session. */
	opening?: Buffer;
	initialized?: Buffer;
	renewing: Promise<boolean>;
	/** Resolves when the server has taken the handshake and the last notification: what follows may build on them. */
	taken: Promise<unknown>;
	readonly running: Set<Promise<void>>;
	/** Requests of revision 2026-07-28, which are cancelled by the end of their stream. */
	readonly cancellable: Map<unknown, AbortController>;
}

/** Passes on a message of the server, and keeps the revision on which host and server agree. */
export function receive(remote: Remote, message: Buffer): void {
	const read = message.includes('"protocolVersion"') ? readLine(message) : undefined;
	for (const one of read?.messages ?? []) {
		if (one.message.kind !== "response") continue;
		const agreed = stringAt(one.message.result ?? {}, "protocolVersion");
		if (agreed !== undefined) remote.link.agreeOn(agreed);
	}
	remote.onMessage(message);
}

export function refuse(remote: Remote, ids: readonly RequestId[], message: string, data?: JsonObject): void {
	if (ids.length === 0)
		remote.log({ level: "warning", message, data: { event: "not_delivered", server: remote.url.origin } });
	for (const id of ids) remote.gateway.refuse(id, { message, ...(data && { data }) });
}

export const drop = (answer: IncomingMessage): void => void answer.resume();
