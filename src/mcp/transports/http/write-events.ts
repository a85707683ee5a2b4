import type { ServerResponse } from "node:http";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import { rawMessage } from "../../raw-message.ts";
import type { Outlet, UnreadLimit } from "./limit-unread.ts";

/** Large events are written in pieces of this many bytes, so that a slow reader is seen to read. */
const pieceBytes = 64 * 1024;

/**
 * Has a transport write its events by the rules here, not the SDK's: messages that are written already go out as they
 * are, and what waits for the client is bounded.
 */
export function writeEvents(transport: StreamableHTTPServerTransport, unread: UnreadLimit): void {
	// Private in the SDK, which has no other way to send bytes; its version is pinned and the compiler checks the names.
	// biome-ignore lint/complexity/useLiteralKeys: a private member
	const inner = transport["_webStandardTransport"];
	const outlets = new WeakMap<Controller, StreamOutlet>();
	// biome-ignore lint/complexity/useLiteralKeys: a private member
	inner["writeSSEEvent"] = (controller: Controller, _encoder: unknown, message: JSONRPCMessage) => {
		const outlet = outlets.get(controller) ?? outletOf(controller);
		outlets.set(controller, outlet);
		if ("id" in message) outlet.response ??= expected.get(transport)?.get(message.id as RequestId);
		try {
			for (const piece of eventOf(message)) outlet.write(piece);
		} catch (error) {
			// Ended already, or nested too deep to be written.
			transport.onerror?.(error instanceof Error ? error : new Error("An event could not be written."));
			return false;
		}
		unread.written(outlet);
		return true;
	};
}

const expected = new WeakMap<StreamableHTTPServerTransport, Map<RequestId, ServerResponse>>();

/** The ids of a body's requests. */
export function requestIdsOf(body: unknown): readonly RequestId[] {
	return (Array.isArray(body) ? body : [body]).filter((message) => isJSONRPCRequest(message)).map(({ id }) => id);
}

/** Notes on which response the answers to requests go out, so that it can be cut. */
export function expectAnswers(
	transport: StreamableHTTPServerTransport,
	ids: readonly RequestId[],
	response: ServerResponse,
): void {
	const responses = expected.get(transport) ?? new Map<RequestId, ServerResponse>();
	expected.set(transport, responses);
	for (const id of ids) responses.set(id, response);
	response.once("close", () => {
		for (const id of ids) if (responses.get(id) === response) responses.delete(id);
	});
}

/** The same for the older transport, whose only stream is a response. */
export function writeEventsTo(response: ServerResponse, transport: SSEServerTransport, unread: UnreadLimit): void {
	const outlet: Outlet = { unread: () => response.writableLength, cut: () => void response.destroy() };
	transport.send = async (message: JSONRPCMessage) => {
		if (response.destroyed || response.writableEnded) throw new Error("Not connected");
		for (const piece of eventOf(message)) response.write(piece);
		unread.written(outlet);
	};
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

interface StreamOutlet extends Outlet {
	/** Where the stream goes out; unknown for one that a client opened to listen. */
	response: ServerResponse | undefined;
	write(piece: Uint8Array): void;
}

function outletOf(controller: Controller): StreamOutlet {
	let sizes: number[] = [];
	const outlet: StreamOutlet = {
		response: undefined,
		write(piece) {
			controller.enqueue(piece);
			sizes.push(piece.byteLength);
		},
		unread() {
			// The stream counts pieces, of which it wants one ahead. One that has ended says 0, as if the last piece waited.
			const waiting = outlet.response?.closed ? 0 : Math.max(0, 1 - (controller.desiredSize ?? 1));
			sizes = waiting === 0 ? [] : sizes.slice(-waiting);
			return sizes.reduce((sum, size) => sum + size, 0);
		},
		cut() {
			// To fail the stream would do, but what pipes it would print that.
			if (outlet.response) outlet.response.destroy();
			else
				controller.error(Object.assign(new Error("The client does not read."), { code: "ERR_STREAM_PREMATURE_CLOSE" }));
		},
	};
	return outlet;
}

function* eventOf(message: JSONRPCMessage): Generator<Uint8Array> {
	const head = "event: message\ndata: ";
	const data = rawMessage(message);
	if (!data) return yield* inPieces(Buffer.from(`${head}${JSON.stringify(message)}\n\n`));
	yield Buffer.from(head);
	yield* inPieces(data);
	yield Buffer.from("\n\n");
}

function* inPieces(bytes: Uint8Array): Generator<Uint8Array> {
	for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}
