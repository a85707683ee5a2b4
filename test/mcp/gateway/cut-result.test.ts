import { describe, expect, it } from "vitest";
import { outputChecker } from "../../../src/mcp/output-schema.ts";
import { call, inMemoryGateway, type Json, numberedLines, refIn, textIn, textResult } from "./in-memory-gateway.ts";

const cutOf = (result: Json, options: Parameters<typeof inMemoryGateway>[0] = {}, given: Json = {}) =>
	inMemoryGateway(options).answer(call(1, "search", given), result);
const base64 = (chars: number) =>
	Buffer.from(Array.from({ length: chars }, (_, at) => (at * 7_919) % 251))
		.toString("base64")
		.slice(0, chars);

describe("the text of a result", () => {
	it("stays at the limit, and is cut to it above", async () => {
		const at = "x y ".repeat(4_000);
		expect(textIn(await cutOf(textResult(at)))).toBe(at);
		const above = textIn(await cutOf(textResult(`${at}z`)));
		expect(above.length).toBeLessThanOrEqual(16_000);
		expect(refIn(above)).not.toBe("");
	});

	it("is cut to the policy's limit, and to a limit in tokens", async () => {
		const long = numberedLines(2_000);
		const ofPolicy = textIn(await cutOf(textResult(long), { layer: { truncate: { max_chars: 2_000 } } }));
		expect(ofPolicy.length).toBeLessThanOrEqual(2_000);
		const inTokens = textIn(await cutOf(textResult(long), { maxTokens: 300 }));
		expect(inTokens.length).toBeLessThan(1_500);
		expect(textIn(await cutOf(textResult("word ".repeat(200)), { maxTokens: 300 }))).toBe("word ".repeat(200));
	});

	it("in several blocks shares the limit; images and recordings stay", async () => {
		const image = { type: "image", data: base64(30_000), mimeType: "image/png" };
		const [short, long] = ["a short one", numberedLines(1_000)];
		const { content } = (await cutOf({
			content: [{ type: "text", text: short }, image, { type: "text", text: long, annotations: { priority: 1 } }],
		})) as { content: { text: string }[] };
		expect(content.slice(0, 2)).toEqual([{ type: "text", text: short }, image]);
		expect(content[2]).toMatchObject({ type: "text", annotations: { priority: 1 } });
		expect(content[2]?.text.length).toBeLessThanOrEqual(16_000 - short.length);
	});

	it.each([
		["texts", []],
		["texts around an image", [{ type: "image", data: "QUJD", mimeType: "image/png" }]],
	])("in very many blocks is cut as one: %s", async (_what, others) => {
		const { answer, archive } = inMemoryGateway();
		const texts = Array.from({ length: 500 }, (_, at) => ({
			type: "text",
			text: `result ${at}: ${"word ".repeat(20)}`,
		}));
		const given = { content: [...texts.slice(0, 9), ...others, ...texts.slice(9)] };
		const { content } = (await answer(call(1, "search", { query: "result 321" }), given)) as {
			content: { text: string }[];
		};
		expect(content.slice(1)).toEqual(others);
		expect(content[0]?.text.length).toBeLessThanOrEqual(16_000);
		expect(content[0]?.text).toContain("result 321:");
		expect(await archive.use((opened) => opened.stats())).toMatchObject({ originals: 1 });
	});

	it("in very many resources is cut as one, with their addresses", async () => {
		const contents = Array.from({ length: 2_000 }, (_, at) => ({ uri: `file:///${at}.txt`, text: "word ".repeat(20) }));
		const { answer, archive } = inMemoryGateway();
		const request = { id: 1, method: "resources/read", params: { uri: "file:///" } };
		const { contents: read } = (await answer(request, { contents })) as { contents: Json[] };
		expect(read).toEqual([{ uri: "file:///0.txt", text: expect.stringContaining("file:///1999.txt") }]);
		expect(String(read[0]?.text).length).toBeLessThanOrEqual(16_000);
		expect(await archive.use((opened) => opened.stats())).toMatchObject({ originals: 1 });
		const blocks = contents.map((resource) => ({ type: "resource", resource }));
		const { content } = (await answer(call(2, "search"), { content: blocks })) as { content: Json[] };
		expect(content).toHaveLength(1);
	});

	it("that is base64 becomes a line that describes it", async () => {
		const text = `The screenshot:\n${base64(40_000)}\nIt shows the login page.`;
		const [notice, ...lines] = textIn(await cutOf(textResult(text))).split("\n");
		expect(notice).toMatch(/^\[Output shortened: .*ref=/);
		expect(lines).toEqual(["The screenshot:", "[… Base64 data, 40000 characters …]", "It shows the login page."]);
	});

	it("of an error is whole up to the limit; above, the failure stays", async () => {
		const failure = "line 1234: FATAL could not connect to the database: connection refused";
		const text = numberedLines(3_000, { 1234: failure });
		const error = { ...textResult(numberedLines(200)), isError: true };
		expect(await cutOf(error)).toEqual(error);
		const cut = await cutOf({ ...textResult(text), isError: true });
		expect(cut.isError).toBe(true);
		expect(textIn(cut)).toContain(failure);
	});

	it("of an embedded resource is cut; the page of an app is not", async () => {
		const text = numberedLines(1_000);
		const resources = ["file:///a.txt", "ui://app/page"].map((uri) => ({ type: "resource", resource: { uri, text } }));
		const { content } = (await cutOf({ content: resources })) as { content: { resource: { text: string } }[] };
		expect(content.map(({ resource }) => resource.text.length <= 16_000)).toEqual([true, false]);
	});

	it.each([
		[["user"], false],
		[["user", "assistant"], true],
		[["assistant"], true],
		[[], true],
	])("for the audience %j is cut: %s", async (audience, isCut) => {
		const text = numberedLines(1_000);
		const result = { content: [{ type: "text", text, annotations: { audience } }] };
		expect(textIn(await cutOf(result)) !== text).toBe(isCut);
	});

	it("of a resource that is read is cut; its bytes are not", async () => {
		const { answer } = inMemoryGateway();
		const request = { id: 1, method: "resources/read", params: { uri: "file:///log.txt" } };
		const blob = base64(40_000);
		const contents = [
			{ uri: "file:///log.txt", text: numberedLines(1_000) },
			{ uri: "file:///log.gz", blob },
		];
		const read = (await answer(request, { contents })) as { contents: { text: string; blob: string }[] };
		expect(read.contents[0]?.text.length).toBeLessThanOrEqual(16_000);
		// No tool was listed to the host.
		expect(read.contents[0]?.text).toMatch(/read it with `palimpsest recall [a-z0-9]{12}`\./);
		expect(read.contents[1]).toEqual(contents[1]);
	});

	it("passes whole where the limit has no room to name the original", async () => {
		const text = numberedLines(100);
		const layer = { truncate: { max_chars: 40 } };
		expect(textIn(await cutOf(textResult(text), { layer }))).toBe(text);
	});
});

describe("structured content", () => {
	const long = numberedLines(2_000);
	const schema = (properties: Json) => ({
		type: "object",
		properties,
		required: Object.keys(properties),
		additionalProperties: false,
	});

	async function structured(content: unknown, outputSchema?: Json) {
		const { answer, logged } = inMemoryGateway();
		const tool = { name: "search", inputSchema: { type: "object" }, ...(outputSchema && { outputSchema }) };
		await answer({ id: 1, method: "tools/list" }, { tools: [tool] });
		const result = await answer(call(2, "search"), { content: [], structuredContent: content });
		return { content: result.structuredContent as Json, events: logged.map(({ data }) => data.event) };
	}

	it("is cut in its strings, and keeps its shape", async () => {
		const given = {
			total: 2,
			pages: [
				{ title: "a", text: long },
				{ title: "b", text: "short" },
			],
		};
		const { content, events } = await structured(given);
		const pages = content.pages as { text: string }[];
		expect(content).toEqual({ total: 2, pages: [{ title: "a", text: pages[0]?.text }, given.pages[1]] });
		expect(JSON.stringify(content).length).toBeLessThanOrEqual(16_500);
		expect(refIn(pages[0]?.text ?? "")).not.toBe("");
		expect(events).toEqual([]);
	});

	it.each([
		["is cut if that fits the schema", { type: "string", minLength: 5 }, true],
		["stays if the schema refuses a cut string", { type: "string", pattern: "^line 1:" }, false],
	])("%s", async (_what, text, isCut) => {
		const { content, events } = await structured({ text: long }, schema({ text }));
		expect((content.text as string) !== long).toBe(isCut);
		expect(events).toEqual(isCut ? [] : ["structure_kept"]);
	});

	it("may be a list or a text, as revision 2026-07-28 has it", async () => {
		const [list] = (await structured([long, 1], { type: "array" })).content as unknown as string[];
		const text = (await structured(long, { type: "string" })).content as unknown as string;
		expect(text).toBe(list);
		expect(text.length).toBeLessThanOrEqual(16_500);
		expect(refIn(text)).not.toBe("");
	});

	const object = (properties: Json) => ({
		...{ type: "object", properties, required: Object.keys(properties), additionalProperties: false },
	});
	const list = (items: Json, more: Json = {}) => ({ type: "array", items, ...more });
	const text = { type: "string" };
	const fact = "The quick brown fox jumps over the lazy dog again.";
	// As server-memory lists its graph.
	const graph = {
		entities: Array.from({ length: 150 }, (_, at) => ({
			...{
				name: at === 77 ? "Zimmermann" : `Entity ${at}`,
				entityType: "person",
				observations: [`${fact} ${at}`, fact],
			},
		})),
		relations: Array.from({ length: 100 }, (_, at) => ({
			from: `Entity ${at}`,
			to: "Entity 1",
			relationType: "knows",
		})),
	};
	const graphSchema = object({
		entities: list(object({ name: text, entityType: text, observations: list(text) })),
		relations: list(object({ from: text, to: text, relationType: text })),
	});
	const rows = Array.from({ length: 3_000 }, (_, at) => ({ id: at, name: `row ${at}`, note: fact }));
	const cells = Array.from({ length: 3_000 }, (_, at) => [at, `row ${at}`, fact]);
	const names = Object.fromEntries(rows.map((row) => [`key ${row.id}`, row]));
	it.each([
		["a graph", graph, graphSchema],
		[
			"rows that take no other members",
			{ rows },
			object({ rows: list(object({ id: { type: "number" }, name: text, note: text })) }),
		],
		[
			"rows of cells",
			{ columns: ["id", "name"], rows: cells },
			object({ columns: list(text, { maxItems: 2 }), rows: list(list({})) }),
		],
		["members by name", { names }, object({ names: { type: "object", additionalProperties: { type: "object" } } })],
		[
			"a list with the wanted number of items",
			{ ten: graph.entities.slice(0, 10), rows },
			object({ ten: list({}, { minItems: 10 }), rows: list({ type: "object" }) }),
		],
		[
			"a text that the schema wants whole",
			{ code: `a${"b".repeat(900)}`, rows },
			{ ...object({ code: { ...text, pattern: "^ab+$" }, rows: list({}) }), additionalProperties: true },
		],
	])("loses items from the middle within its schema, with a notice: %s", async (_what, given, outputSchema) => {
		const { content, events } = await structured(given, outputSchema as Json);
		const json = JSON.stringify(content);
		expect(json.length).toBeLessThanOrEqual(17_000);
		expect(json).toMatch(/\[Output shortened: \d+ of \d+ characters left out, ref=[a-z0-9]{12}\] Intact, no error/);
		expect(json).toMatch(/ items left out| keys left out/);
		expect(outputChecker(outputSchema as Json)(content)).toEqual([]);
		expect(events).toEqual([]);
	});

	it("keeps the items that the call asks for", async () => {
		const { answer } = inMemoryGateway();
		const tools = [{ name: "search", inputSchema: {}, outputSchema: graphSchema }];
		await answer({ id: 1, method: "tools/list" }, { tools });
		const result = await answer(call(2, "search", { query: "Zimmermann" }), { content: [], structuredContent: graph });
		const { entities } = result.structuredContent as typeof graph;
		expect(entities.map(({ name }) => name)).toEqual(expect.arrayContaining(["Entity 0", "Zimmermann", "Entity 149"]));
	});

	it.each([
		[
			"has no place for a notice",
			{ values: Array.from({ length: 9_000 }, (_, at) => at) },
			object({ values: list({ type: "number" }) }),
		],
		["wants every item", { rows }, object({ rows: list({}, { minItems: 3_000 }) })],
	])("stays whole where the schema %s, and the log says its size", async (_what, given, outputSchema) => {
		const { answer, logged } = inMemoryGateway();
		await answer({ id: 1, method: "tools/list" }, { tools: [{ name: "search", inputSchema: {}, outputSchema }] });
		const result = await answer(call(2, "search"), { ...textResult(long), structuredContent: given });
		expect(result.structuredContent).toEqual(given);
		const chars = JSON.stringify(given).length;
		expect(logged.map(({ data }) => data)).toEqual([{ event: "structure_kept", tool: "search", chars }]);
	});

	it("of a tool without a schema goes where a text is its copy, and else is cut as JSON", async () => {
		const { answer } = inMemoryGateway();
		await answer({ id: 1, method: "tools/list" }, { tools: [{ name: "search", inputSchema: {} }] });
		const copied = await answer(call(2, "search"), {
			...{ structuredContent: graph, ...textResult(JSON.stringify(graph, null, 2)), _meta: { n: 1 } },
		});
		expect(Object.keys(copied)).toEqual(["content", "_meta"]);
		expect(textIn(copied).length).toBeLessThanOrEqual(16_000);
		const { structuredContent } = await answer(call(3, "search"), {
			...textResult("150 found"),
			structuredContent: graph,
		});
		expect(JSON.stringify(structuredContent).length).toBeLessThanOrEqual(16_500);
		expect(structuredContent).toMatchObject({ _truncated: expect.stringContaining("ref=") });
	});

	it.each([
		["claude-code", "structure"],
		["another host", "text"],
	])("is counted as far as the model of the host sees it: %s", async (name, seen) => {
		const cuts: unknown[] = [];
		const { answer, ended } = inMemoryGateway({ onCut: (chars) => cuts.push(chars) });
		await answer({ id: 0, method: "initialize", params: { clientInfo: { name } } }, {});
		await answer(
			{ id: 1, method: "tools/list" },
			{ tools: [{ name: "search", inputSchema: {}, outputSchema: graphSchema }] },
		);
		const shown = JSON.stringify(graph, null, 2);
		const result = await answer(call(2, "search"), { ...textResult(shown), structuredContent: graph });
		const structure = { before: JSON.stringify(graph).length, after: JSON.stringify(result.structuredContent).length };
		const chars = seen === "text" ? { before: shown.length, after: textIn(result).length } : structure;
		expect(cuts).toEqual([chars]);
		expect(ended.at(-1)?.report).toEqual({ chars });
	});
});
