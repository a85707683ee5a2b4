import type { IncomingMessage } from "node:http";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { pauseMs, readEvents, type StreamState } from "../../../src/mcp/gateway/event-stream.ts";

const messages: string[] = [];
function read(text: string, state: StreamState): Promise<boolean> {
	const stream = new PassThrough();
	const result = readEvents(stream as unknown as IncomingMessage, {
		state,
		onMessage: (message) => void messages.push(message.toString()),
	});
	stream.end(text);
	return result;
}

describe("a stream of events", () => {
	it.each([
		["nothing", "retry: 5\n\n", {}, false],
		["a message", "data: {}\n\n", {}, true],
		["a message with an id", "id: 2\ndata: {}\n\n", { lastId: "1" }, true],
		["the same id again", "id: 1\ndata: {}\n\n", { lastId: "1" }, false],
	])("says whether it held something new: %s", async (_what, text, state, isNew) => {
		expect(await read(text, state)).toBe(isNew);
	});

	it("is ended by an event that is too large, and the others are read", async () => {
		const state: StreamState = {};
		const stream = new PassThrough();
		const read = readEvents(stream as unknown as IncomingMessage, { state, largest: 100, onMessage: () => {} });
		stream.write("data: {}\n\ndata: ");
		for (let at = 0; at < 20; at += 1) stream.write("x".repeat(10));
		expect([await read, state.isTooLarge, stream.destroyed]).toEqual([true, true, true]);
	});
});

describe("the pause before a stream is taken up again", () => {
	it.each([
		[0, undefined, 1_000],
		[0, 0, 250],
		[1, 0, 500],
		[0, 700, 700],
		[3, 700, 5_600],
		[0, 99_999_999_999, 60_000],
		[900, 1, 60_000],
	])("after %d fruitless tries, with retry %j, is %d ms", (tries, asked, pause) => {
		expect(pauseMs(tries, asked)).toBe(pause);
	});
});
