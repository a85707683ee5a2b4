import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type Behaviour, complete, type SeenRequest } from "../operations/summariser/chat-server.ts";
import { atEnd } from "../support/at-end.ts";
import { outputOf } from "../support/sample-text.ts";
import { type JsonMessage, openaiMessages, system, toolTurn, user } from "../support/script.ts";

/** A chat-completions endpoint for the tests of a whole file. */
export interface LastingEndpoint {
	readonly baseUrl: string;
	/** The numbers of the connections that are open now. */
	open(): readonly number[];
	/** Behaves as told for requests about the conversation of that name, one behaviour after the other; the last repeats. */
	behave(name: string, ...behaviours: readonly Behaviour[]): void;
	/** The requests about that conversation until now. */
	requestsOf(name: string): readonly SeenRequest[];
}

const marker = /conversation=([\w-]+);/;

/** An agent's conversation of twelve tool turns, each with its name in it. */
export function conversationNamed(name: string): JsonMessage[] {
	const turns = Array.from({ length: 12 }, (_, turn) =>
		toolTurn(`call_${turn}`, outputOf(`conversation=${name}; file ${turn}`)),
	);
	return openaiMessages(system("You are careful."), user("Read it all."), turns.flat());
}

/**
 * Starts an endpoint on a socket of this machine. Unlike that of the summariser's own tests it outlives a test, so that
 * one server of ours can ask it in many.
 */
export async function lastingEndpoint(): Promise<LastingEndpoint> {
	const behaviours = new Map<string, readonly Behaviour[]>();
	const requests = new Map<string, SeenRequest[]>();
	const sockets = new Map<Socket, number>();
	let connections = 0;
	// A server that takes its time between two calls finds its connection open all the same.
	const server = createServer({ keepAliveTimeout: 600_000 }, async (request, response) => {
		const { url = "", headers, socket } = request;
		const connection = sockets.get(socket) ?? -1;
		const seen: SeenRequest = { url, headers, body: JSON.parse(await text(request)), connection };
		const name = marker.exec(seen.body.messages[0]?.content ?? "")?.[1] ?? "joined";
		const before = requests.get(name) ?? [];
		requests.set(name, [...before, seen]);
		const told = behaviours.get(name) ?? [complete()];
		told[Math.min(before.length, told.length - 1)]?.(response, seen);
	});
	server.on("connection", (socket) => {
		sockets.set(socket, connections);
		connections += 1;
		socket.on("close", () => sockets.delete(socket));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	atEnd("file", () => {
		server.close();
		server.closeAllConnections();
	});
	return {
		baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
		open: () => [...sockets.values()],
		behave(name, ...told) {
			behaviours.set(name, told);
			requests.delete(name);
		},
		requestsOf: (name) => requests.get(name) ?? [],
	};
}
