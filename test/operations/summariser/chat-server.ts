import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { onTestFinished } from "vitest";

/** What a request held. */
export interface SeenRequest {
	readonly url: string;
	readonly headers: IncomingHttpHeaders;
	readonly body: {
		readonly model?: string;
		readonly max_tokens?: number;
		readonly max_completion_tokens?: number;
		readonly messages: readonly { readonly role: string; readonly content: string }[];
	};
	/** Which connection it came by, from 0. */
	readonly connection: number;
}

/** How the server behaves for one request. */
export type Behaviour = (response: ServerResponse, request: SeenRequest) => void;

export interface ChatServer {
	readonly baseUrl: string;
	readonly requests: readonly SeenRequest[];
	/** Connections that are open now. */
	readonly open: () => number;
	readonly close: () => Promise<void>;
}

/** A chat-completions endpoint on a socket of this machine that behaves as told, one behaviour after the other; the last repeats. */
export async function startChatServer(...behaviours: readonly Behaviour[]): Promise<ChatServer> {
	const requests: SeenRequest[] = [];
	const sockets = new Map<Socket, number>();
	let connections = 0;
	const server = createServer(async (request, response) => {
		const text = await readAll(request).catch(() => undefined);
		if (text === undefined) return;
		const { url = "", headers, socket } = request;
		const seen: SeenRequest = { url, headers, body: JSON.parse(text), connection: sockets.get(socket) ?? -1 };
		const behave = behaviours[Math.min(requests.length, behaviours.length - 1)];
		requests.push(seen);
		behave?.(response, seen);
	});
	server.on("connection", (socket) => {
		sockets.set(socket, connections);
		connections += 1;
		socket.on("close", () => sockets.delete(socket));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	const started: ChatServer = {
		baseUrl: `http://127.0.0.1:${port}/v1`,
		requests,
		open: () => sockets.size,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
	onTestFinished(started.close);
	return started;
}

async function readAll(request: IncomingMessage): Promise<string> {
	const pieces: Buffer[] = [];
	for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
	return Buffer.concat(pieces).toString();
}

/** Answers with a status and a body, as JSON unless it is a text. */
export function answer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Behaviour {
	return (response) => {
		response.writeHead(status, { "content-type": "application/json", ...headers });
		response.end(typeof body === "string" ? body : JSON.stringify(body));
	};
}

/** Answers with an error as OpenAI writes them. */
export function refuse(status: number, headers: Readonly<Record<string, string>> = {}): Behaviour {
	return answer(status, { error: { message: "some prose", type: null, param: null, code: null } }, headers);
}

/** Answers with a completion. */
export function complete(content: unknown = "a summary", finishReason: string | null = "stop"): Behaviour {
	const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
	return answer(200, {
		id: "completion-1",
		object: "chat.completion",
		choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: finishReason }],
		usage,
	});
}

/** Never answers. */
export const hang: Behaviour = () => {};
