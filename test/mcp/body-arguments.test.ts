import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBodyReader, heldArguments, readArguments } from "../../src/mcp/body.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Message {
	readonly params?: { arguments?: Record<string, unknown> };
}

/** Reads a body as the server does, with large arguments held or not. */
function readBody(bytes: Uint8Array, holdsArguments = true): Promise<unknown> {
	const reader = createBodyReader({ bytesOfOne: 10_000_000, bytesOfAll: 10_000_000, holdsArguments });
	const request = Object.assign(new PassThrough(), { headers: {} });
	request.end(bytes);
	return reader.read(request as never);
}

/** A body with every argument read that was held, and how many were. */
async function readAll(text: string): Promise<{ readonly body: unknown; readonly held: number }> {
	const body = await readBody(encode(text));
	let held = 0;
	for (const message of (Array.isArray(body) ? body : [body]) as (Message | null)[]) {
		const bytes = heldArguments(message?.params?.arguments ?? {});
		if (!bytes || !message?.params) continue;
		message.params.arguments = readArguments(bytes) as Record<string, unknown>;
		held += 1;
	}
	return { body, held };
}

const call = (args: string, name = "tools/call") =>
	`{"method":"${name}","params":{"name":"x","arguments":${args},"_meta":{"progressToken":3}},"jsonrpc":"2.0","id":7}`;

/** Smaller arguments are not held. */
const largeEnough = 64 * 1024;

const long = (text: string) => `{"text":${JSON.stringify(text.padEnd(largeEnough, "."))}}`;

describe("a body", () => {
	it("holds the large arguments of a call and reads the rest", async () => {
		const text = `{"messages":[${'"'}${"x".repeat(64 * 1024)}"]}`;
		const body = (await readBody(encode(call(text)), true)) as Message & { id: number };
		expect(body).toMatchObject({ id: 7, params: { name: "x", _meta: { progressToken: 3 } } });
		expect(new TextDecoder().decode(heldArguments(body.params?.arguments))).toBe(text);
	});

	it("gives each of several large calls its own bytes, which a thread can receive separately", async () => {
		const body = (await readBody(Buffer.from(`[${call(long("a"))},${call(long("b"))}]`))) as Message[];
		const [first, second] = body.map((message) => heldArguments(message.params?.arguments));
		structuredClone(first, { transfer: [first?.buffer as ArrayBuffer] });
		expect(first?.byteLength).toBe(0);
		expect(readArguments(second ?? new Uint8Array())).toEqual(JSON.parse(long("b")));
	});

	it.each([
		["of small arguments", call('{"text":"short"}'), 0],
		["of another method", call(long("a"), "prompts/get"), 0],
		["with blanks everywhere", call(long("a")).replaceAll(/([{}:,])(?=")/g, "$1 \n\t\r"), 1],
		["with a byte order mark", `\uFEFF${call(long("a"))}`, 1],
		["with quotes, braces and backslashes in its texts", call(long('"}],\\"{[ \\\\" \u2028 \uD83D\uDE00')), 1],
		["with escapes far into a text", call(long(`${"x".repeat(90)}\\\\" \\\\\\" ${"\\".repeat(7)}"}`)), 1],
		[
			"with backslashes to the end of a text",
			call(`{"text":"${"x".repeat(largeEnough)}${"\\".repeat(8)}","b":"\\""}`),
			1,
		],
		["with an escaped key", call(long("a")).replace('"arguments"', '"\\u0061rguments"'), 1],
		["with two arguments, of which the last counts", call(`${long("a")},"arguments":${long("b")}`), 1],
		["with two arguments, the last of them small", call(`${long("a")},"arguments":{"b":1}`), 0],
		["with two params, of which the last counts", call(long("a")).replace(/,"jsonrpc"/, ',"params":{"name":"y"}$&'), 0],
		["with arguments of another kind", call(`[${long("a")}]`), 1],
		["with arguments in other places", `{"arguments":${long("a")},"params":{"x":{"arguments":${long("b")}}}}`, 0],
		["that is a batch", `[${call(long("a"))} , ${call('{"b":1}')},${call(long("c"))}]`, 2],
		["that is a batch of any values", `[1,null,"x",[${call(long("a"))}],${call(long("b"))},{}]`, 1],
		["that is not an object", '"text"', 0],
	])("%s is read the same with or without holding", async (_what, text, expected) => {
		const { body, held } = await readAll(text);
		expect(held).toBe(expected);
		expect(body).toEqual(JSON.parse(text.replace(/^\uFEFF/, "")));
	});

	it("has no prototype chosen by a client", async () => {
		const text = `{"method":"tools/call","params":{"__proto__":{"arguments":${long("a")}}},"id":1}`;
		const { body, held } = await readAll(text);
		expect(held).toBe(0);
		expect(Object.keys((body as { params: object }).params)).toEqual(["__proto__"]);
	});

	it("that uses our marker for held arguments holds nothing", async () => {
		const { body, held } = await readAll(call('{"held":{}}'));
		expect(held).toBe(0);
		expect(body).toEqual(JSON.parse(call('{"held":{}}')));
	});

	it.each([
		["truncated", call(long("a")).slice(0, 300)],
		["with text after it", `${call(long("a"))}}`],
		["of nothing", ""],
		["with a bare word", call(long("a")).replace("7", "seven")],
	])("that is invalid JSON is refused: %s", async (_what, text) => {
		await expect(readBody(encode(text))).rejects.toThrow(/^Expected a body of JSON/);
	});

	it("that is invalid UTF-8 is refused, also within held arguments", async () => {
		const bytes = encode(call(long("a")));
		bytes[bytes.indexOf(0x2e)] = 0xff;
		await expect(readBody(bytes)).rejects.toThrow(/^Expected a body of JSON/);
	});

	it("with invalid JSON in its arguments fails when they are read", async () => {
		const body = (await readBody(encode(call(`{"text": nonsense ${" ".repeat(largeEnough)}}`)))) as Message;
		const bytes = heldArguments(body.params?.arguments);
		expect(() => readArguments(bytes ?? encode("{}"))).toThrow(/^Expected the arguments to be JSON/);
	});

	it("of many calls holds small arguments too, when all of them together would take too long to read", async () => {
		const args = `{"text":"${"x".repeat(20_000)}"}`;
		const body = (await readBody(encode(`[${Array(40).fill(call(args)).join(",")}]`), true)) as Message[];
		expect(body).toHaveLength(40);
		for (const message of body) {
			const bytes = heldArguments(message.params?.arguments);
			expect(new TextDecoder().decode(bytes)).toBe(args);
		}
		const few = (await readBody(encode(`[${Array(4).fill(call(args)).join(",")}]`), true)) as Message[];
		expect(few.map((message) => heldArguments(message.params?.arguments))).toEqual(Array(4).fill(undefined));
	});

	it.each([true, false])("reads only large arguments of tool calls, held (%s) or not", async (holds) => {
		const args = `{"text":"${"x".repeat(300_000)}"}`;
		await expect(readBody(encode(call(args, "prompts/get")), holds)).rejects.toThrow(/^Expected at most 262144 bytes/);
		// The same in two messages: each alone would be small enough.
		const half = `{"text":"${"x".repeat(150_000)}"}`;
		const two = `[${call(half, "prompts/get")},${call(half, "prompts/get")}]`;
		await expect(readBody(encode(two), holds)).rejects.toThrow(/^Expected at most 262144 bytes/);
		expect(await readBody(encode(call(half, "prompts/get")), holds)).toEqual(JSON.parse(call(half, "prompts/get")));
	});

	it("without holding is read completely", async () => {
		expect(await readBody(encode(call(long("x".repeat(400_000)))), false)).toEqual(
			JSON.parse(call(long("x".repeat(400_000)))),
		);
	});

	it("of any JSON is read the same, held or not", async () => {
		let held = 0;
		const own = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { minKeys: 1 });
		const args = fc
			.tuple(own, fc.boolean())
			.map(([given, isLarge]) => (isLarge ? { ...given, text: ".".repeat(largeEnough) } : given));
		const message = fc.record({
			before: fc.jsonValue(),
			args,
			after: fc.jsonValue(),
			blank: fc.constantFrom("", " ", "\n"),
		});
		const textOf = ({
			before,
			args: given,
			after,
			blank,
		}: typeof message extends fc.Arbitrary<infer One> ? One : never) =>
			[
				`{"first":${JSON.stringify(before)}`,
				`"params":{"_meta":${JSON.stringify(after)}`,
				`"arguments":${JSON.stringify(given)}${blank}}`,
				`"method":"tools/call"`,
				`"id":1}`,
			].join(`,${blank}`);
		await fc.assert(
			fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 3 }), fc.boolean(), async (messages, isBatch) => {
				const [first = ""] = messages.map(textOf);
				const text = isBatch ? `[${messages.map(textOf).join(",")}]` : first;
				const read = await readAll(text);
				held += read.held;
				expect(read.body).toEqual(JSON.parse(text));
			}),
		);
		expect(held).toBeGreaterThan(50);
	});
});
