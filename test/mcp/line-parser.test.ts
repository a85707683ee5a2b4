import { describe, expect, it } from "vitest";
import { createLineParser, lineParserLimits } from "../../src/mcp/transports/stdio/create-line-parser.ts";

const any = { lines: 4, bytes: 1_000_000, shortest: 1, longest: 1_000_000 };
const message = (index: number, length = 300) => ({ role: "user", content: `${index} ${'é\\"'.repeat(length / 3)}` });
const messages = (count: number, first = 0) => Array.from({ length: count }, (_, index) => message(first + index));
const call = (list: unknown, id: number | string = 1, more: object = {}) => ({
	method: "tools/call",
	params: { name: "mask_conversation", arguments: { messages: list, ...more } },
	jsonrpc: "2.0",
	id,
});
const piecesOf = (text: string) => [Buffer.from(text)];

/** A parser that is held against `JSON.parse` at every line; the messages of each call, and what is held. */
function startParser(limits = any) {
	const { parse, held } = createLineParser(limits);
	const parseText = (text: string): readonly unknown[] | undefined => {
		const whole: unknown = JSON.parse(text);
		const parsed = parse(piecesOf(text));
		expect(parsed).toEqual(whole);
		// The order of keys too.
		expect(JSON.stringify(parsed)).toBe(JSON.stringify(whole));
		return (parsed as ReturnType<typeof call> | null)?.params?.arguments?.messages as unknown[];
	};
	return {
		parse,
		held,
		parseText,
		parseCall: (...given: Parameters<typeof call>) => parseText(JSON.stringify(call(...given))),
	};
}

describe("a call with one message more than the one before", () => {
	it("gives the messages that were read then, in lists of its own", () => {
		const { parseCall, held } = startParser();
		const first = parseCall(messages(3));
		const second = parseCall(messages(4), 2) ?? [];
		const third = parseCall(messages(4), "third", { respond_with: "edits" }) ?? [];
		expect(held()).toMatchObject({ lines: 1, continued: 2 });
		expect(second.slice(0, 3).every((one, index) => one === first?.[index])).toBe(true);
		expect(third.every((one, index) => one === second[index])).toBe(true);
		expect(new Set([first, second, third]).size).toBe(3);
	});

	it("is not harmed by what becomes of a list that was handed on", () => {
		const { parseCall, held } = startParser();
		for (const count of [3, 4, 5]) (parseCall(messages(count)) as unknown[]).length = 0;
		expect(held().continued).toBe(2);
	});

	it("may come with another head, other arguments before and behind, and other blanks around", () => {
		const { parseText, held } = startParser();
		const body = JSON.stringify(messages(3)).slice(1, -1);
		const lines = [
			`{"id":1,"params":{"arguments":{"messages":[${body}]}}}`,
			`{"id":"another","params":{"_meta":{"progressToken":7},"arguments":{"model":"x","messages": [${body} , 7]}}}\r`,
			`\t{"params":{"arguments":{"messages" : [${body} , 7,\t"8" ],"tools":[{"messages":[]}]}}}`,
			`{"params":{"arguments":{"messages" :[${body} , 7,\t"8" , {"]":"[\\\\"}]}}}`,
		];
		for (const line of lines) parseText(line);
		expect(held()).toMatchObject({ lines: 1, continued: 3 });
	});

	it("comes in pieces cut anywhere, inside characters too", () => {
		const { parse, held } = createLineParser(any);
		const lines = [3, 4].map((count) => Buffer.from(JSON.stringify(call([...messages(count), { content: "中🙂" }]))));
		const growing = [2, 3].map((count) => Buffer.from(JSON.stringify(call(messages(count, 50)))));
		for (const line of [...lines, ...growing]) {
			const cut = [0, 1, 97, 250, 251, 400, line.length - 9, line.length];
			const pieces = cut.slice(1).map((end, index) => line.subarray(cut[index], end));
			expect(parse(pieces)).toEqual(JSON.parse(line.toString("utf8")));
		}
		expect(held().continued).toBe(1);
	});

	it("may hold bytes that are no UTF-8, next to the border too", () => {
		const { parse, held } = createLineParser(any);
		const line = (tail: string) => Buffer.from(`{"params":{"arguments":{"messages":["a\xc3","\xff${tail}}}}`, "latin1");
		for (const tail of ['"]', '","\xe4"]', '","\xe4", "\xb8\xad"]']) {
			expect(parse([line(tail)])).toEqual(JSON.parse(line(tail).toString("utf8")));
		}
		expect(held().continued).toBe(2);
		for (const tail of ['"\xbf]', '",\xad"b"]']) expect(() => parse([line(tail)])).toThrow(SyntaxError);
	});
});

describe("a line that only looks like it", () => {
	const around = (inner: string) => `{"params":{"arguments":{${inner}}}}`;
	it.each([
		[
			"a number that goes on",
			[around('"messages":[{},1]'), around('"messages":[{},12]'), around('"messages":[{},1e5]')],
		],
		["a second list of the same name", [around('"messages":[1,2]'), around('"messages":[1,2,3],"messages":[4]')]],
		["a second list of the same name in both", Array(2).fill(around('"messages":[1,2],"messages":[3]'))],
		["other messages in front", Array(2).fill(`{"_meta":{"messages":[1,2]},${around('"messages":[3,4]').slice(1)}`)],
		["a key that ends alike", Array(2).fill(around('"x\\"messages":[1,2],"messages":[3,4]'))],
		[
			"arguments that come twice",
			[around('"messages":[1,2]'), '{"params":{"arguments":{"messages":[1,2]},"arguments":7}}'],
		],
		["another member", [around('"messages":[1,2]'), '{"params":{"other":{"messages":[1,2]}}}']],
		["messages in a text", [around('"messages":[1,2]'), JSON.stringify({ text: around('"messages":[1,2]') })]],
		["a list in a list", [around('"messages":[[1,2],3]'), around('"messages":[[1,2,4],3]')]],
		["nothing at first", [around('"messages":[]'), around('"messages":[1]')]],
		["a key that means no prototype", Array(2).fill('{"params":{"__proto__":{"arguments":{"messages":[1]}}}}')],
		[
			"no object",
			["null", "7", '"messages":[1]'.replace(":", " ").slice(0, 10), '[{"messages":[1]}]', '{"params":null}'],
		],
	])("is read as a whole: %s", (_what, lines) => {
		const { parseText, held } = startParser();
		for (const line of lines) parseText(line);
		expect(held().continued).toBe(0);
	});

	it.each([
		["a comma too many", ",]}}}"],
		["two commas", ",,1]}}}"],
		["no comma", " 1]}}}"],
		["a colon", ":1]}}}"],
		["another bracket", "}}}}"],
		["no end", ""],
		["something behind the end", "]}}}}"],
	])("is refused as JSON.parse refuses it: %s", (_what, tail) => {
		const { parse, parseText } = startParser();
		const begin = '{"params":{"arguments":{"messages":[{"a":1},2';
		parseText(`${begin}]}}}`);
		let expected = "";
		try {
			JSON.parse(begin + tail);
		} catch (error) {
			expected = (error as Error).message;
		}
		expect(expected).not.toBe("");
		expect(() => parse(piecesOf(begin + tail))).toThrow(new SyntaxError(expected));
		// What was known is still known.
		parseText(`${begin},3]}}}`);
	});
});

describe("what is held", () => {
	it("is the latest lines of several conversations, each in place of what it goes on from", () => {
		const { parseCall, held } = startParser();
		for (const count of [2, 3, 4, 5]) for (const first of [0, 100, 200]) parseCall(messages(count, first));
		expect(held()).toMatchObject({ lines: 3, continued: 9 });
		// A conversation that turns off stands beside the one that it shares its beginning with.
		parseCall([...messages(5), message(8)]);
		parseCall([...messages(5), message(9)]);
		parseCall([...messages(5), message(8), message(10)]);
		expect(held()).toMatchObject({ lines: 4, continued: 11 });
	});

	it("is the longest of the conversations that a line begins with", () => {
		const { parseCall, parseText } = startParser();
		const known = parseText(JSON.stringify(call([...messages(4), 1])));
		parseCall(messages(2));
		// The longest once used first and once last.
		for (const more of [[2], [2, 3]]) {
			const goneOn = parseCall([...messages(4), 1, ...more]);
			expect(goneOn?.slice(2, 4).every((one, index) => one === known?.[index + 2])).toBe(true);
		}
	});

	it("is never more than the limits, and the longest unused goes first", () => {
		const limits = { lines: 3, bytes: 9_000, shortest: 500, longest: 9_000 };
		const { parseCall, held } = startParser(limits);
		let [lines, bytes] = [0, 0];
		for (let turn = 1; turn < 200; turn += 1) {
			parseCall(messages(1 + (turn % 17), 1_000 * (turn % 5)));
			lines = Math.max(lines, held().lines);
			bytes = Math.max(bytes, held().bytes);
			expect(held().lines).toBeLessThanOrEqual(limits.lines);
			expect(held().bytes).toBeLessThanOrEqual(limits.bytes);
		}
		expect(lines).toBe(limits.lines);
		expect(bytes).toBeGreaterThan(limits.bytes / 2);
		const before = held().continued;
		for (const first of [7_000, 8_000, 9_000, 7_000]) parseCall(messages(3, first));
		expect(held().continued).toBe(before + 1);
		parseCall(messages(3, 6_000));
		parseCall(messages(3, 8_000));
		expect(held().continued).toBe(before + 1);
	});

	it("is no short line, no line over the limit, and nothing without messages", () => {
		const { parseCall, parseText, held } = startParser({ lines: 3, bytes: 9_000, shortest: 1_000, longest: 5_000 });
		for (let turn = 0; turn < 2; turn += 1) {
			parseCall(messages(1));
			parseCall(messages(20));
			parseText(JSON.stringify({ params: { arguments: { path: "x".repeat(2_000) } } }));
			parseCall({ contents: messages(5) });
		}
		expect(held()).toEqual({ lines: 0, bytes: 0, continued: 0 });
		expect(lineParserLimits.longest).toBeLessThanOrEqual(lineParserLimits.bytes);
	});

	it("stays where a conversation has grown over the limit", () => {
		const { parseCall, held } = startParser({ lines: 3, bytes: 4_000, shortest: 1, longest: 4_000 });
		parseCall(messages(3));
		const before = held();
		parseCall(messages(30));
		expect(held()).toEqual(before);
	});
});
