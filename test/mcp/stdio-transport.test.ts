import { PassThrough, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { createStdioTransport } from "../../src/mcp/stdio-transport.ts";

type OversizedLine = Parameters<Parameters<typeof createStdioTransport>[0]["onOversized"]>[0];

const mostUnread = 32_000_000;

type Make = (input: PassThrough, output: Writable, onOversized?: (line: OversizedLine) => void) => Transport;

const ours: Make = (input, output, onOversized = () => expect.unreachable()) =>
	createStdioTransport({ input, output, largestMessage: 1_000, onOversized });
const ofSdk: Make = (input, output) => new StdioServerTransport(input, output);

const ping = (id: string | number): JSONRPCMessage => ({ jsonrpc: "2.0", id, method: "ping" });
const lineOf = (message: unknown) => `${JSON.stringify(message)}\n`;

/** A started transport with what it received and what it wrote. */
async function started(make: Make) {
	const input = new PassThrough();
	const written: string[] = [];
	const output = new Writable({
		write(chunk: Buffer, _encoding, done) {
			written.push(chunk.toString("utf8"));
			done();
		},
	});
	const oversized: OversizedLine[] = [];
	const transport = make(input, output, (line) => oversized.push(line));
	const messages: JSONRPCMessage[] = [];
	const errors: Error[] = [];
	let closed = 0;
	transport.onmessage = (message) => messages.push(message);
	transport.onerror = (error) => errors.push(error);
	transport.onclose = () => {
		closed += 1;
	};
	await transport.start();
	const feed = async (...chunks: (string | Buffer)[]) => {
		for (const chunk of chunks) input.write(chunk);
		await new Promise(setImmediate);
	};
	return { input, output, transport, messages, errors, oversized, written, feed, closed: () => closed };
}

describe.each([
	["our transport", ours],
	["the SDK's transport", ofSdk],
])("%s", (_whose, make) => {
	it("passes on requests, notifications and responses, with unchanged ids", async () => {
		const { feed, messages, errors } = await started(make);
		const sent = [
			ping(0),
			ping("0"),
			{ jsonrpc: "2.0", method: "notifications/initialized" },
			{ jsonrpc: "2.0", id: 7, result: { roots: [], extra: { deep: [null] } } },
			{ jsonrpc: "2.0", id: 8, error: { code: -1, message: "no", data: { why: 1 } } },
			{ method: "tools/call", params: { name: "x", arguments: { a: [1] }, vendor: true }, jsonrpc: "2.0", id: 9 },
		];
		await feed(sent.map(lineOf).join(""));
		expect(messages).toEqual(sent);
		expect(errors).toEqual([]);
	});

	it("accepts messages cut anywhere, with carriage returns, one in many chunks or many in one", async () => {
		const { feed, messages, errors } = await started(make);
		const message = { jsonrpc: "2.0", method: "x", params: { text: "é 中文 🙂\u2028" } };
		const bytes = Buffer.from(`${JSON.stringify(message)}\r\n`);
		for (let cut = 0; cut <= bytes.length; cut += 1) await feed(bytes.subarray(0, cut), bytes.subarray(cut));
		await feed(...Array.from(bytes, (byte) => Buffer.of(byte)), lineOf(ping(1)) + lineOf(ping(2)));
		expect(messages).toEqual([...Array(bytes.length + 2).fill(message), ping(1), ping(2)]);
		expect(errors).toEqual([]);
	});

	it("reports a line that is not a message, answers nothing, and continues", async () => {
		const { feed, messages, errors, written, closed } = await started(make);
		const bad = [
			"{",
			"",
			"[]",
			"7",
			'{"jsonrpc":"1.0","id":1,"method":"x"}',
			'{"jsonrpc":"2.0","id":1.5,"method":"x"}',
		];
		for (const line of [...bad, JSON.stringify([ping(1)]), JSON.stringify({ ...ping(1), extra: 1 })]) {
			await feed(`${line}\n`);
		}
		await feed(lineOf(ping(1)));
		expect(messages).toEqual([ping(1)]);
		expect(errors.map((error) => error.name)).toEqual([
			...["SyntaxError", "SyntaxError"],
			...Array(6).fill(expect.stringMatching(/ZodError$|^NotAMessage$/)),
		]);
		expect([written, closed()]).toEqual([[], 0]);
	});

	it("reports a handler that throws, and continues", async () => {
		const { feed, transport, errors } = await started(make);
		transport.onmessage = () => {
			throw new Error("of the handler");
		};
		await feed(lineOf(ping(1)), lineOf(ping(2)));
		expect(errors.map((error) => error.message)).toEqual(["of the handler", "of the handler"]);
	});

	it("writes one message per line, in order, and nothing else", async () => {
		const { transport, written } = await started(make);
		const sent = [ping(1), { jsonrpc: "2.0", id: 2, result: { text: "a\nb\u2028c" } } as const, ping(3)];
		await Promise.all(sent.map((message) => transport.send(message)));
		expect(written.join("")).toBe(sent.map(lineOf).join(""));
	});

	it("drops an unfinished last line, and stays open for answers when its input ends", async () => {
		const { input, feed, messages, transport, written, closed } = await started(make);
		await feed(lineOf(ping(1)), '{"jsonrpc"');
		input.end();
		await new Promise(setImmediate);
		expect([messages, closed()]).toEqual([[ping(1)], 0]);
		await transport.send(ping(2));
		expect(written).toEqual([lineOf(ping(2))]);
	});

	it("accepts nothing once it is closed, and cannot be started twice", async () => {
		const { feed, transport, messages, closed } = await started(make);
		await expect(transport.start()).rejects.toThrow("started");
		await transport.close();
		await feed(lineOf(ping(1)));
		expect([messages, closed()]).toEqual([[], 1]);
	});
});

describe("a message over the limit", () => {
	it("is reported and skipped, and the connection continues", async () => {
		const { feed, messages, errors, oversized } = await started(ours);
		await feed(lineOf({ ...ping(1), params: { text: "x".repeat(1_000) } }), lineOf(ping(2)));
		expect(messages).toEqual([ping(2)]);
		expect(errors).toEqual([]);
		expect(oversized).toMatchObject([{ bytes: 1_062, head: expect.stringContaining('"id":1') }]);
	});
});

describe("a client that does not read", () => {
	/** An output of which the test takes one write at a time. */
	function stuckOutput() {
		const waiting: { readonly text: string; readonly done: () => void }[] = [];
		const output = new Writable({
			decodeStrings: false,
			write: (text: string, _encoding, done) => void waiting.push({ text, done }),
		});
		const takeOne = () => {
			const taken = waiting.shift();
			taken?.done();
			return taken?.text;
		};
		return { output, takeOne };
	}

	it("gets every message in order later, and each send waits until its message is written", async () => {
		const { output, takeOne } = stuckOutput();
		const transport = createStdioTransport({
			input: new PassThrough(),
			output,
			largestMessage: 1_000,
			onOversized: () => {},
		});
		await transport.start();
		const out: number[] = [];
		const sends = [1, 2, 3].map((id) => transport.send(ping(id)).then(() => out.push(id)));
		for (const id of [1, 2, 3]) {
			await new Promise(setImmediate);
			expect(out).toHaveLength(id - 1);
			expect(String(takeOne())).toBe(lineOf(ping(id)));
		}
		await Promise.all(sends);
		expect(out).toEqual([1, 2, 3]);
	});

	it("is not read from while too much is unread, and is read again afterwards", async () => {
		const { output, takeOne } = stuckOutput();
		const input = new PassThrough();
		const transport = createStdioTransport({ input, output, largestMessage: 1_000, onOversized: () => {} });
		const answer = "x".repeat(5_000_000);
		let received = 0;
		transport.onmessage = () => {
			received += 1;
			void transport.send({ jsonrpc: "2.0", id: received, result: { answer } });
		};
		await transport.start();
		const requests = 50;
		for (let id = 0; id < requests; id += 1) {
			input.write(lineOf(ping(id)));
			await new Promise(setImmediate);
		}
		expect(received).toBe(Math.ceil(mostUnread / answer.length));
		expect(output.writableLength).toBeLessThan(mostUnread + 2 * answer.length);
		let taken = 0;
		let most = 0;
		while (taken < requests) {
			if (takeOne() !== undefined) taken += 1;
			most = Math.max(most, output.writableLength);
			await new Promise(setImmediate);
		}
		expect(received).toBe(requests);
		expect(most).toBeLessThan(mostUnread + 2 * answer.length);
	});

	it("and disconnects ends the connection without an error, and no send keeps waiting", async () => {
		const { output } = stuckOutput();
		const input = new PassThrough();
		const transport = createStdioTransport({ input, output, largestMessage: 1_000, onOversized: () => {} });
		const told: string[] = [];
		transport.onerror = () => told.push("error");
		transport.onclose = () => told.push("closed");
		await transport.start();
		const sends = [transport.send(ping(1)), transport.send(ping(2))];
		output.destroy(Object.assign(new Error("gone"), { code: "EPIPE" }));
		await Promise.all(sends);
		await transport.send(ping(3));
		expect(told).toEqual(["closed"]);
	});
});
