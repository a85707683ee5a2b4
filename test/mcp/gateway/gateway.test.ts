import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { call, inMemoryGateway, type Json, numberedLines, refIn, textIn, textResult } from "./in-memory-gateway.ts";

const long = numberedLines(1_000, { 700: "line 700: the invoice number is 4711-XK" });

/** JSON with blanks and escapes that no writer of ours makes. */
const spelled = (value: unknown, indent: string) =>
	JSON.stringify(value, null, indent).replaceAll("\n", " ").replaceAll("/", "\\/").replaceAll("é", "\\u00e9");

/** The ids of the answers in a line. */
function answeredBy(line: string): readonly (string | number)[] {
	let value: unknown;
	try {
		value = JSON.parse(line);
	} catch {
		return [];
	}
	const messages = [value].flat().filter((one) => typeof one === "object" && one !== null && !("method" in one));
	return (messages as { id?: string | number }[]).flatMap(({ id }) => id ?? []);
}

describe("messages without large results", () => {
	const methods = [
		"initialize",
		"ping",
		"tools/call",
		"resources/read",
		"prompts/get",
		"x/unknown",
		"sampling/createMessage",
	];
	const message = fc.oneof(
		fc.record({
			jsonrpc: fc.constant("2.0"),
			id: fc.oneof(fc.nat(5), fc.string()),
			method: fc.constantFrom(...methods),
			params: fc.object(),
		}),
		fc.record({
			jsonrpc: fc.constant("2.0"),
			method: fc.constantFrom("notifications/progress", "notifications/x"),
			params: fc.object(),
		}),
		fc.record({ jsonrpc: fc.constant("2.0"), id: fc.oneof(fc.nat(5), fc.string()), result: fc.object() }),
		fc.record({ id: fc.nat(5), error: fc.object(), jsonrpc: fc.constant("2.0") }),
		fc.uniqueArray(fc.record({ id: fc.nat(5), result: fc.object() }), { maxLength: 3, selector: ({ id }) => id }),
	);
	const line = fc.oneof(
		fc.tuple(message, fc.constantFrom("", " ", "\t")).map(([value, indent]) => spelled(value, indent)),
		fc.string().map((text) => text.replaceAll("\n", " ")),
	);

	it("pass to the byte, in both directions and in order", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(fc.tuple(fc.boolean(), line)), async (sent) => {
				const { fromHost, fromServer, toServer, lines, toHost } = inMemoryGateway();
				const passed: string[] = [];
				const pass = (one: string) => {
					passed.push(one);
					fromHost(one);
				};
				for (const [isOfHost, one] of sent) {
					if (!isOfHost) for (const id of answeredBy(one)) pass(JSON.stringify({ id, method: "ping" }));
					(isOfHost ? pass : fromServer)(one);
				}
				await toHost.settled();
				expect(toServer).toEqual(passed);
				expect(lines()).toEqual(sent.filter(([isOfHost]) => !isOfHost).map(([, one]) => one));
			}),
		);
	});

	it("pass to the byte if they are not UTF-8", () => {
		const written: Buffer[] = [];
		const { gateway } = inMemoryGateway({ toServer: (one) => void written.push(one) });
		const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
		gateway.fromHost(bytes);
		expect(written).toEqual([bytes]);
	});
});

describe("a large result of a call", () => {
	it("is cut in its message, in which all else keeps its bytes", async () => {
		const { fromHost, fromServer, lines, toHost } = inMemoryGateway();
		fromHost({ jsonrpc: "2.0", ...call("a/b", "search", { query: "invoice number" }) });
		const around = (text: string) =>
			`{ "id":"a\\/b", "result" : {"_meta":{"n":12345678901234567890, "k":1.50},"content":[{"type":"image","data":"AAAA"},{"type":"text","annotations":{ "priority":1e0},"text":${text}} ]}, "jsonrpc":"2.0"}`;
		fromServer(around(JSON.stringify(long)));
		await toHost.settled();
		const [line = ""] = lines();
		const { text } = JSON.parse(line).result.content[1];
		expect(line).toBe(around(JSON.stringify(text)));
		expect(text.length).toBeLessThanOrEqual(16_000);
		expect(text).toContain("4711-XK");
		expect(text).toMatch(
			/^\[Output shortened: .*, ref=[a-z0-9]{12}\] Intact, no error: read it with recall_original\.\n/,
		);
	});

	it("keeps its place among the messages of the server", async () => {
		const { fromHost, fromServer, lines, toHost } = inMemoryGateway();
		fromHost({ jsonrpc: "2.0", ...call(1, "a") });
		fromHost({ jsonrpc: "2.0", ...call(2, "b") });
		fromServer({ jsonrpc: "2.0", id: 2, result: textResult(long) });
		fromServer('{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:y"}}');
		fromServer({ jsonrpc: "2.0", id: 1, result: textResult("short") });
		await toHost.settled();
		const messages = lines().map((one) => JSON.parse(one));
		expect(messages.map(({ id, method }) => id ?? method)).toEqual([2, "notifications/resources/updated", 1]);
	});

	it("is read whole by the added tool, and by its name in the notice", async () => {
		const { answer, ownAnswer, toServer } = inMemoryGateway();
		await answer(
			{ id: 1, method: "tools/list" },
			{ tools: [{ name: "recall_original", inputSchema: { type: "object" } }] },
		);
		const text = textIn(await answer(call(2, "search"), textResult(long)));
		expect(text).toContain("read it with palimpsest_recall_original.");
		const sent = toServer.length;
		const given = call(3, "palimpsest_recall_original", { ref: refIn(text), lines: "699-701" });
		const recalled = await ownAnswer(given);
		expect(toServer).toHaveLength(sent);
		expect(recalled).toMatchObject({ jsonrpc: "2.0", id: 3 });
		expect(textIn(recalled.result as never)).toContain("\nline 700: the invoice number is 4711-XK\n");
	});

	it.each([
		["server", "read it with recall_original."],
		["command", /read it with `palimpsest recall [a-z0-9]{12}`\./],
	] as const)("names how to read it where the tool is not added: by %s", async (recall, hint) => {
		const { answer } = inMemoryGateway({ recall });
		const { tools } = (await answer({ id: 1, method: "tools/list" }, { tools: [] })) as { tools: unknown[] };
		expect(tools).toEqual([]);
		const [notice = ""] = textIn(await answer(call(2, "search"), textResult(long))).split("\n");
		expect(notice).toMatch(hint);
	});

	it("passes whole if the archive cannot keep it", async () => {
		const failing = {
			use: () => Promise.reject(new PalimpsestError("archive_unavailable", "The disk is full.")),
			end() {},
		};
		const { answer, logged } = inMemoryGateway({ archive: failing });
		expect(textIn(await answer(call(1, "search"), textResult(long)))).toBe(long);
		expect(logged).toEqual([
			expect.objectContaining({ data: { event: "passed_whole", tool: "search", code: "archive_unavailable" } }),
		]);
	});

	it("of a tool of ours passes whole, since it was asked for", async () => {
		const { answer } = inMemoryGateway();
		expect(textIn(await answer(call(1, "mask_conversation"), textResult(long)))).toBe(long);
	});

	it("is cut where it arrives as the result of a task", async () => {
		const { answer } = inMemoryGateway();
		await answer(call(1, "search", { query: "invoice number" }), { task: { taskId: "t-1", status: "working" } });
		const text = textIn(await answer({ id: 2, method: "tasks/result", params: { taskId: "t-1" } }, textResult(long)));
		expect(text.length).toBeLessThanOrEqual(16_000);
		expect(text).toContain("4711-XK");
	});

	it("is cut in the state of a task of revision 2026-07-28, which is polled or sent", async () => {
		const { answer, fromServer, lines, toHost, ended } = inMemoryGateway();
		const task = { taskId: "t-1", ttlMs: null };
		await answer(call(1, "search", { query: "invoice number" }), { resultType: "task", ...task, status: "working" });
		const get = (id: number) => ({ id, method: "tasks/get", params: { taskId: "t-1" } });
		const working = { resultType: "complete", ...task, status: "working" };
		expect(await answer(get(2), working)).toEqual(working);
		const completed = { ...task, status: "completed", result: textResult(long) };
		fromServer({ jsonrpc: "2.0", method: "notifications/tasks", params: completed });
		await toHost.settled();
		const sent = JSON.parse(lines().at(-1) ?? "{}").params;
		const polled = await answer(get(3), { resultType: "complete", ...completed });
		expect(polled).toEqual({ resultType: "complete", ...sent });
		expect(sent).toMatchObject({ ...task, status: "completed" });
		expect(textIn(sent.result).length).toBeLessThanOrEqual(16_000);
		expect(textIn(sent.result)).toContain("4711-XK");
		expect(ended.map(({ tool }) => tool)).toEqual(["search", "search", "search"]);
	});

	it("is cut in a batch of answers, beside one that stays", async () => {
		const { fromHost, fromServer, lines, toHost } = inMemoryGateway();
		fromHost(JSON.stringify([1, 2].map((id) => ({ jsonrpc: "2.0", ...call(id, "search") }))));
		fromServer(
			JSON.stringify([
				{ id: 1, result: textResult("short") },
				{ id: 2, result: textResult(long) },
			]),
		);
		await toHost.settled();
		const [first, second] = JSON.parse(lines()[0] ?? "[]");
		expect(first).toEqual({ id: 1, result: textResult("short") });
		expect(textIn(second.result).length).toBeLessThanOrEqual(16_000);
	});
});

describe("requests of the server", () => {
	it("are not taken for answers, with any id", async () => {
		const { fromHost, fromServer, toServer, lines, toHost } = inMemoryGateway();
		fromHost({ jsonrpc: "2.0", ...call(1, "search") });
		const asked = { jsonrpc: "2.0", id: 1, method: "sampling/createMessage", params: { messages: [] } };
		fromServer(asked);
		const answered = { jsonrpc: "2.0", id: 1, result: textResult(long) };
		fromHost(answered);
		expect(lines()).toEqual([JSON.stringify(asked)]);
		expect(toServer.at(-1)).toBe(JSON.stringify(answered));
		fromServer({ jsonrpc: "2.0", id: 1, result: textResult(long) });
		await toHost.settled();
		expect(lines()[1]?.length).toBeLessThan(20_000);
	});

	it("may be answered by the same id as a text, as hosts take it", async () => {
		const { fromHost, fromServer, lines, toHost } = inMemoryGateway();
		fromHost({ jsonrpc: "2.0", ...call(2, "search") });
		fromServer({ jsonrpc: "2.0", id: "2", result: textResult(long) });
		fromServer({ jsonrpc: "2.0", id: 2, result: textResult(long) });
		for (const id of [1, "1"]) fromHost({ jsonrpc: "2.0", ...call(id, "search") });
		for (const id of ["1", 1]) fromServer({ jsonrpc: "2.0", id, result: textResult(long) });
		await toHost.settled();
		const messages = lines().map((line) => JSON.parse(line));
		expect(messages.map(({ id }) => id)).toEqual(["2", "1", 1]);
		for (const { result } of messages) expect(textIn(result).length).toBeLessThanOrEqual(16_000);
	});
});

describe("an answer that nobody waits for", () => {
	it.each([[1], ["1"], ["2.0"], ["0x2"], [""], [null], [true], [[2]], [{ id: 2 }]])("does not pass: %j", (id) => {
		const { fromHost, fromServer, lines } = inMemoryGateway();
		fromServer({ jsonrpc: "2.0", id, result: textResult("short") });
		fromHost({ jsonrpc: "2.0", ...call(2, "search") });
		fromServer({ jsonrpc: "2.0", id, result: textResult(long) });
		fromServer({ jsonrpc: "2.0", id, method: "x", result: textResult(long) });
		expect(lines()).toEqual([]);
	});

	it("is taken out of a batch", async () => {
		const { fromServer, lines, toHost } = inMemoryGateway();
		fromServer(JSON.stringify([{ jsonrpc: "2.0", id: 1, result: {} }, { method: "notifications/x" }]));
		await toHost.settled();
		expect(lines()).toEqual(['[{"method":"notifications/x"}]']);
	});

	it("does not pass a second time, also in one batch", async () => {
		const { fromHost, fromServer, lines, toHost } = inMemoryGateway();
		fromHost({ jsonrpc: "2.0", ...call(2, "search") });
		const answered = { jsonrpc: "2.0", id: 2, result: textResult(long) };
		fromServer(JSON.stringify([answered, answered]));
		await toHost.settled();
		expect(JSON.parse(lines()[0] ?? "")).toHaveLength(1);
	});

	it("passes if it is an error without an id, or if the host has sent what cannot be read", () => {
		const { fromServer, gateway, lines } = inMemoryGateway();
		const unreadable = '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}';
		fromServer(unreadable);
		gateway.fromHost(Buffer.from([0x7b, 0xff, 0x7d]));
		fromServer({ jsonrpc: "2.0", id: 9, result: {} });
		expect(lines()).toEqual([unreadable, '{"jsonrpc":"2.0","id":9,"result":{}}']);
	});
});

describe("a task", () => {
	const begun = async () => {
		const gateway = inMemoryGateway();
		await gateway.answer(call(1, "search"), { task: { taskId: "t-1", status: "working" } });
		const tell = (status: string, text: string, method = "notifications/tasks") =>
			gateway.fromServer({ jsonrpc: "2.0", method, params: { taskId: "t-1", status, result: textResult(text) } });
		return { ...gateway, tell };
	};
	const resultsOf = (lines: readonly string[]) => lines.slice(1).map((line) => textIn(JSON.parse(line).params.result));

	it("has one result in the archive, however often it tells another one", async () => {
		const { tell, toHost, archive, lines, logged } = await begun();
		for (let at = 0; at < 50; at += 1) tell("completed", `${at} ${long}`);
		tell("completed", `0 ${long}`);
		await toHost.settled();
		expect(await archive.use((opened) => opened.stats())).toMatchObject({ originals: 1 });
		const told = resultsOf(lines());
		const [first] = told;
		expect(first?.length).toBeLessThanOrEqual(16_000);
		expect(told.at(-1)).toBe(first);
		expect(told[1]).toBe(`1 ${long}`);
		expect(logged.map(({ data }) => data.event)).toEqual(["passed_whole"]);
	});

	it("is cut once it has ended, and the states before pass", async () => {
		const { tell, toHost, archive, lines } = await begun();
		tell("working", `half ${long}`);
		tell("completed", long, "notifications/tasks/status");
		await toHost.settled();
		expect(resultsOf(lines()).map((text) => text.length <= 16_000)).toEqual([false, true]);
		expect(await archive.use((opened) => opened.stats())).toMatchObject({ originals: 1 });
	});

	it("that runs is remembered while very many others end", async () => {
		const { answer, fromServer } = await begun();
		for (let at = 0; at < 1_500; at += 1) {
			await answer(call(2, "search"), { task: { taskId: `short-${at}`, status: "working" } });
			fromServer({ method: "notifications/tasks/status", params: { taskId: `short-${at}`, status: "completed" } });
		}
		const result = await answer({ id: 3, method: "tasks/result", params: { taskId: "t-1" } }, textResult(long));
		expect(textIn(result).length).toBeLessThanOrEqual(16_000);
	});
});

describe("the archive of one server", () => {
	it("takes a quarter of what it may hold in a day; then results pass whole", async () => {
		const { answer, archive } = inMemoryGateway({ layer: { archive: { max_bytes: 10 * long.length } } });
		const results: string[] = [];
		for (let at = 0; at < 4; at += 1)
			results.push(textIn(await answer(call(at, "search"), textResult(`${at} ${long}`))));
		expect(results.map((text) => text.length <= 16_000)).toEqual([true, true, false, false]);
		// What it has already costs nothing.
		expect(textIn(await answer(call(5, "search"), textResult(`1 ${long}`)))).toBe(results[1]);
		expect(await archive.use((opened) => opened.stats())).toMatchObject({ originals: 2 });
	});
});

describe("a tool that the host has not listed", () => {
	const patterned = { type: "object", properties: { data: { type: "string", pattern: "^line" } } };
	const free = { type: "object", properties: { data: { type: "string" } } };
	const tools = [
		{ name: "draw", inputSchema: { type: "object" }, outputSchema: patterned },
		{ name: "dump", inputSchema: { type: "object" }, outputSchema: free },
	];
	const structured = { content: [{ type: "text", text: long }], structuredContent: { data: long } };
	const dataIn = (result: Json) => String((result.structuredContent as Json).data);

	it("is looked up in every page of the server's list, once", async () => {
		const { answer, askedByGateway, lines } = inMemoryGateway({ lists: tools });
		for (const id of [1, 2]) {
			const drawn = await answer(call(id, "draw"), structured);
			expect([textIn(drawn).length <= 16_000, dataIn(drawn)]).toEqual([true, long]);
		}
		expect(dataIn(await answer(call(3, "dump"), structured)).length).toBeLessThanOrEqual(16_500);
		expect(askedByGateway.map(({ params }) => params)).toEqual([{}, { cursor: "1" }]);
		expect(lines()).toHaveLength(3);
	});

	it("is looked up with what the host says of itself, in the newer revision", async () => {
		const { answer, askedByGateway } = inMemoryGateway({ lists: tools });
		const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28", progressToken: 4 };
		await answer({ id: 1, method: "tools/call", params: { name: "draw", _meta } }, structured);
		const { progressToken: _, ...rest } = _meta;
		expect(askedByGateway[0]?.params).toEqual({ _meta: rest });
	});

	it("is looked up again after the list has changed", async () => {
		const { answer, fromServer, askedByGateway } = inMemoryGateway({ lists: tools });
		await answer({ id: 1, method: "tools/list" }, { tools });
		await answer(call(2, "draw"), structured);
		expect(askedByGateway).toEqual([]);
		fromServer({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
		await answer(call(3, "draw"), structured);
		expect(askedByGateway).toHaveLength(2);
	});

	it.each([
		["a tool for a page alone stays one", { ui: { resourceUri: "ui://a", visibility: ["app"] } }, "show", true],
		["a new tool may be for a page", {}, "new", true],
		["a tool for the model stays one", {}, "show", false],
	])("while the server does not say how its list has changed: %s", async (_what, _meta, name, isWhole) => {
		const { answer, fromServer } = inMemoryGateway({ lists: "refused" });
		await answer({ id: 1, method: "tools/list" }, { tools: [{ name: "show", inputSchema: {}, _meta }] });
		fromServer({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
		const result = await answer(call(2, name), structured);
		expect([textIn(result) === long, dataIn(result)]).toEqual([isWhole, long]);
	});

	it("keeps its structured content whole where the server does not list it", async () => {
		for (const lists of [[], [{ name: "other" }]]) {
			const { answer } = inMemoryGateway({ lists });
			const result = await answer(call(1, "draw"), structured);
			expect([textIn(result).length <= 16_000, dataIn(result)]).toEqual([true, long]);
		}
	});

	it("waits for no answer of a server that has ended", async () => {
		const { fromHost, fromServer, gateway, lines, toHost } = inMemoryGateway({ lists: undefined });
		fromHost({ jsonrpc: "2.0", ...call(1, "draw") });
		fromServer({ jsonrpc: "2.0", id: 1, result: structured });
		gateway.end("The server ended.");
		await toHost.settled();
		expect(lines().map((line) => dataIn(JSON.parse(line).result))).toEqual([long]);
	});
});

describe("the results of a tool with a page", () => {
	const result = { content: [{ type: "text", text: long }], structuredContent: { data: long } };
	it.each([
		["for the page alone", { ui: { resourceUri: "ui://a", visibility: ["app"] } }, [true, true]],
		["for the page alone, which another tool shows", { ui: { visibility: ["app"] } }, [true, true]],
		["for both", { ui: { resourceUri: "ui://a", visibility: ["model", "app"] } }, [false, true]],
		["for both, as the draft spelled it", { "ui/resourceUri": "ui://a" }, [false, true]],
		["for both, as the Apps SDK spells it", { "openai/outputTemplate": "ui://a" }, [false, true]],
		["for the model", {}, [false, false]],
	])("%s: what no model reads is whole", async (_whom, _meta, isWhole) => {
		const { answer } = inMemoryGateway();
		await answer({ id: 1, method: "tools/list" }, { tools: [{ name: "show", inputSchema: {}, _meta }] });
		const { structuredContent, ...shown } = await answer(call(2, "show"), result);
		expect([textIn(shown) === long, (structuredContent as Json).data === long]).toEqual(isWhole);
	});
});

describe("the list of tools", () => {
	const tool = (name: string, description = "Does it.") => ({ name, description, inputSchema: { type: "object" } });
	const namesOf = (result: { readonly tools?: unknown }) =>
		(result.tools as { name: string }[]).map(({ name }) => name);

	it("gains the tool on its last page", async () => {
		const { answer } = inMemoryGateway();
		const first = await answer({ id: 1, method: "tools/list" }, { tools: [tool("recall_original")], nextCursor: "p2" });
		expect(namesOf(first)).toEqual(["recall_original"]);
		const second = await answer(
			{ id: 2, method: "tools/list", params: { cursor: "p2" } },
			{ tools: [tool("b")], ttlMs: 5 },
		);
		expect(namesOf(second)).toEqual(["b", "palimpsest_recall_original"]);
		expect(second.ttlMs).toBe(5);
	});

	it("gains the tool where the server writes null for no other page, by a name that the server does not have", async () => {
		const { answer, toServer } = inMemoryGateway();
		const only = await answer({ id: 1, method: "tools/list" }, { tools: [tool("recall_original")], nextCursor: null });
		expect(namesOf(only)).toEqual(["recall_original", "palimpsest_recall_original"]);
		await answer({ id: 2, method: "tools/list" }, { tools: [tool("recall_original")], nextCursor: "p2" });
		await answer(call(3, "recall_original"), textResult("mine"));
		expect(toServer.at(-1)).toContain('"recall_original"');
	});

	it("gains no tool if nothing is archived", async () => {
		const { answer } = inMemoryGateway({ archive: undefined });
		expect(namesOf(await answer({ id: 1, method: "tools/list" }, { tools: [tool("a")] }))).toEqual(["a"]);
	});

	it("leaves out tools, which then cannot be called", async () => {
		const { answer, ownAnswer, toServer } = inMemoryGateway({ choice: { only: ["a", "b"], except: ["b"] } });
		const listed = await answer({ id: 1, method: "tools/list" }, { tools: [tool("a"), tool("b"), tool("c")] });
		expect(namesOf(listed)).toEqual(["a", "recall_original"]);
		expect(await ownAnswer(call(2, "c"))).toMatchObject({ id: 2, error: { code: -32_602 } });
		expect(toServer).toHaveLength(1);
	});
});

describe("a call of the added tool", () => {
	it("reads no original of another server, or of a program", async () => {
		const { answer, archive, ...own } = inMemoryGateway();
		const other = inMemoryGateway({ owner: "another server", archive });
		const ref = refIn(textIn(await answer(call(1, "search"), textResult(long))));
		const [ofProgram] = await archive.use((opened) =>
			opened.put([{ kind: "text", text: "what a program has archived" }]),
		);
		const refused = await Promise.all([
			other.ownAnswer(call(2, "recall_original", { ref })),
			own.ownAnswer(call(3, "recall_original", { ref: ofProgram })),
			own.ownAnswer(call(4, "recall_original", { ref: `${ref.slice(0, -1)}${ref.endsWith("a") ? "b" : "a"}` })),
		]);
		for (const { result } of refused) {
			expect(result).toMatchObject({ isError: true });
			expect(textIn(result as never)).toMatch(/^\[original_not_found\] No original of this server is kept/);
		}
		const read = await own.ownAnswer(call(5, "recall_original", { ref }));
		expect(read.result).not.toHaveProperty("isError");
	});

	it("finds words in the originals of this server alone", async () => {
		const { answer, archive, ...own } = inMemoryGateway();
		const other = inMemoryGateway({ owner: "another server", archive });
		const ref = refIn(textIn(await answer(call(1, "search"), textResult(long))));
		await archive.use((opened) => opened.put([{ kind: "text", text: "4711-XK, as a program has archived it" }]));
		const query = { query: "4711-XK" };
		const found = textIn((await own.ownAnswer(call(2, "recall_original", query))).result as never);
		expect(found).toContain(ref);
		expect(found).not.toContain("as a program");
		const ofOther = textIn((await other.ownAnswer(call(3, "recall_original", query))).result as never);
		expect(ofOther).not.toContain(ref);
	});

	it("is answered by the gateway alone, and not after it is cancelled", async () => {
		const { fromHost, fromServer, lines, toServer, toHost } = inMemoryGateway();
		for (const id of [1, 2]) fromHost({ jsonrpc: "2.0", ...call(id, "recall_original", { ref: "x" }) });
		fromServer({ jsonrpc: "2.0", id: 1, result: textResult("forged") });
		fromHost('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}');
		await expect.poll(lines).toHaveLength(1);
		await new Promise((resolve) => setTimeout(resolve, 50));
		await toHost.settled();
		expect(lines().map((line) => JSON.parse(line).id)).toEqual([1]);
		expect(lines()[0]).not.toContain("forged");
		expect(toServer).toEqual([]);
	});

	it("has the type of its result in the newer revision", async () => {
		const { ownAnswer } = inMemoryGateway();
		const { params, ...rest } = call(1, "recall_original", { ref: "none" });
		const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
		expect((await ownAnswer({ ...rest, params: { ...(params as object), _meta } })).result).toMatchObject({
			resultType: "complete",
		});
		expect((await ownAnswer(call(2, "recall_original", { ref: "none" }))).result).not.toHaveProperty("resultType");
	});

	it("is taken out of a batch that the server gets", async () => {
		const { fromHost, toServer, lines } = inMemoryGateway();
		const others = [
			{ jsonrpc: "2.0", ...call(1, "a") },
			{ jsonrpc: "2.0", ...call(3, "b") },
		];
		fromHost(JSON.stringify([others[0], { jsonrpc: "2.0", ...call(2, "recall_original", { ref: "x" }) }, others[1]]));
		expect(JSON.parse(toServer[0] ?? "")).toEqual(others);
		await expect.poll(lines).toHaveLength(1);
	});
});

describe("a small result", () => {
	const small = (id: number) => ({ jsonrpc: "2.0", id, result: textResult("short") });

	it("ends its request at once", async () => {
		const { fromHost, fromServer, gateway, lines, ended } = inMemoryGateway();
		for (const id of [1, 2, 3]) fromHost({ jsonrpc: "2.0", ...call(id, "a") });
		fromServer(small(1));
		expect([1, 2].map(gateway.isOpen)).toEqual([false, true]);
		fromServer(small(2));
		gateway.refuse(2, { message: "No answer came." });
		fromServer(small(3));
		gateway.end("The server ended.");
		expect(lines().map((line) => JSON.parse(line))).toEqual([1, 2, 3].map(small));
		expect(ended.map(({ request }) => request)).toEqual([1, 2, 3]);
	});

	it("ends no later request with its id", async () => {
		const { fromHost, fromServer, ended, answer } = inMemoryGateway();
		fromHost({ jsonrpc: "2.0", ...call(1, "first") });
		fromServer(small(1));
		expect(textIn(await answer(call(1, "second"), textResult(long))).length).toBeLessThan(long.length);
		expect(ended.map(({ tool }) => tool)).toEqual(["first", "second"]);
	});
});

describe("the end of the server", () => {
	it("answers the requests that still wait, and no others", async () => {
		const { fromHost, fromServer, gateway, lines, toHost } = inMemoryGateway();
		for (const id of [1, "two", 3]) fromHost({ jsonrpc: "2.0", ...call(id, "a") });
		fromHost('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}');
		fromServer({ jsonrpc: "2.0", id: 1, result: textResult(long) });
		gateway.end("The server ended.");
		await toHost.settled();
		const [first, ...others] = lines().map((line) => JSON.parse(line));
		expect(first).toMatchObject({ id: 1, result: {} });
		expect(others).toEqual([{ jsonrpc: "2.0", id: "two", error: { code: -32_000, message: "The server ended." } }]);
	});
});

describe("the log of calls", () => {
	it("names tool and characters before and after", async () => {
		const { answer, ended } = inMemoryGateway();
		const text = textIn(await answer(call(7, "search"), textResult(long)));
		await answer(call(8, "search"), { ...textResult("short"), isError: true });
		await answer(
			{ id: 9, method: "resources/read", params: { uri: "a:b" } },
			{ contents: [{ uri: "a:b", text: "12" }] },
		);
		expect(ended).toEqual([
			expect.objectContaining({
				tool: "search",
				request: 7,
				outcome: "ok",
				report: { chars: { before: long.length, after: text.length } },
			}),
			expect.objectContaining({
				tool: "search",
				request: 8,
				outcome: "error",
				report: { chars: { before: 5, after: 5 } },
			}),
			expect.objectContaining({ tool: "resources/read", request: 9, report: { chars: { before: 2, after: 2 } } }),
		]);
	});
});
