import { describe, expect, it } from "vitest";
import { createManyServers } from "../../../src/mcp/gateway/many-servers.ts";
import type { Json } from "./in-memory-gateway.ts";

/** Two servers that are the test itself, behind a hub whose host is the test too. */
function several(answers: Readonly<Record<string, (request: Json) => Json | undefined>>) {
	const toHost: Json[] = [];
	const sent: (readonly [string, Json])[] = [];
	const hub = createManyServers({
		version: "1",
		toHost: (line) => void toHost.push(JSON.parse(line.toString())),
		servers: Object.entries(answers).map(([name, answer]) => ({
			name,
			send(line) {
				const message = JSON.parse(line.toString());
				sent.push([name, message]);
				const result = "method" in message && "id" in message ? answer(message) : undefined;
				if (result) fromServer(name, { jsonrpc: "2.0", id: message.id, ...result });
			},
		})),
	});
	const fromServer = (name: string, message: Json) => hub.fromServer(name, Buffer.from(JSON.stringify(message)));
	const fromHost = (message: Json) => hub.fromHost(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })));
	async function ask(method: string, params: Json = {}, id: string | number = toHost.length + 100): Promise<Json> {
		fromHost({ id, method, params });
		const answered = () => toHost.find((one) => one.id === id && !("method" in one));
		await expect.poll(answered).toBeDefined();
		return answered() as Json;
	}
	return { hub, toHost, sent, fromHost, fromServer, ask };
}

const server =
	(name: string, more: Json = {}) =>
	({ method, params }: Json): Json | undefined => {
		const { name: called, cursor } = params as { name?: string; cursor?: string };
		const results: Record<string, Json> = {
			initialize: {
				protocolVersion: name === "old" ? "2025-03-26" : "2025-11-25",
				capabilities: { tools: { listChanged: true }, ...(name === "old" ? { resources: {} } : { logging: {} }) },
				serverInfo: { name },
				instructions: `Ask ${name}.`,
			},
			"tools/list": cursor ? { tools: [{ name: "second" }] } : { tools: [{ name: "first" }], nextCursor: "2" },
			"resources/list": { resources: [{ uri: `${name}://a` }] },
			"resources/templates/list": { resourceTemplates: [{ uriTemplate: `${name}://{id}` }] },
			"tools/call": { content: [{ type: "text", text: `${name} ${called}` }] },
			"resources/read": { contents: [{ uri: "x", text: name }] },
			"logging/setLevel": {},
			...more,
		};
		const result = results[String(method)];
		return result && { result };
	};

describe("several servers as one", () => {
	it("shake hands together, in the oldest revision, with what each can", async () => {
		const { ask, fromHost, sent } = several({ new: server("new"), old: server("old") });
		const { result } = await ask("initialize", { protocolVersion: "2025-11-25" });
		expect(result).toEqual({
			protocolVersion: "2025-03-26",
			capabilities: { tools: { listChanged: true }, resources: {}, logging: {} },
			serverInfo: { name: "palimpsest-gateway", version: "1" },
			instructions: "# new\nAsk new.\n\n# old\nAsk old.",
		});
		fromHost({ method: "notifications/initialized" });
		expect(sent.slice(-2).map(([name, { method }]) => [name, method])).toEqual([
			["new", "notifications/initialized"],
			["old", "notifications/initialized"],
		]);
	});

	const begun = async (answers = { "a b": server("a b"), old: server("old") }) => {
		const hub = several(answers);
		await hub.ask("initialize", { protocolVersion: "2025-11-25" });
		return hub;
	};

	it("list the tools of all pages under their server's name, and get the calls of their own", async () => {
		const { ask, hub, sent } = await begun();
		const { result } = await ask("tools/list");
		const names = (result as { tools: { name: string }[] }).tools.map(({ name }) => name);
		expect(names).toEqual(["a_b_first", "a_b_second", "old_first", "old_second"]);
		const called = await ask("tools/call", { name: "old_second", arguments: { n: 1 } });
		expect(called.result).toEqual({ content: [{ type: "text", text: "old second" }] });
		expect(sent.at(-1)).toEqual(["old", expect.objectContaining({ params: { name: "second", arguments: { n: 1 } } })]);
		expect(["old_first", "a_b_first", "other"].map(hub.serverOf)).toEqual(["old", "a b", undefined]);
		expect(await ask("tools/call", { name: "none_first" })).toMatchObject({ error: { code: -32_602 } });
		expect(await ask("server/discover")).toMatchObject({ error: { code: -32_601 } });
		expect(await ask("ping")).toMatchObject({ result: {} });
	});

	it("give their resources, also those of a template", async () => {
		const { ask } = await begun({ "a b": server("other"), old: server("old") });
		await ask("resources/list");
		await ask("resources/templates/list");
		for (const uri of ["old://a", "old://of-template"]) {
			const { result } = await ask("resources/read", { uri });
			expect(result).toMatchObject({ contents: [{ text: "old" }] });
		}
	});

	it("ask the host with the same id, and each gets its answer", async () => {
		const { fromServer, fromHost, toHost, sent } = await begun();
		for (const name of ["a b", "old"]) fromServer(name, { jsonrpc: "2.0", id: 7, method: "roots/list" });
		const asked = toHost.slice(-2);
		expect(new Set(asked.map(({ id }) => id)).size).toBe(2);
		for (const { id } of asked.toReversed()) fromHost({ id, result: { roots: [{ uri: String(id) }] } });
		expect(sent.slice(-2)).toEqual([
			["old", { jsonrpc: "2.0", id: 7, result: { roots: [{ uri: asked[1]?.id }] } }],
			["a b", { jsonrpc: "2.0", id: 7, result: { roots: [{ uri: asked[0]?.id }] } }],
		]);
	});

	it("pass notifications and what is cancelled, and no answer that nobody waits for", async () => {
		const { fromServer, fromHost, toHost, sent, ask } = await begun({
			"a b": (request: Json) => (request.method === "tools/call" ? undefined : server("a b")(request)),
			old: server("old"),
		});
		await ask("tools/list");
		fromServer("old", { jsonrpc: "2.0", method: "notifications/tools/list_changed" });
		expect(toHost.at(-1)).toMatchObject({ method: "notifications/tools/list_changed" });
		const before = toHost.length;
		fromServer("old", { jsonrpc: "2.0", id: 5, result: {} });
		expect(toHost).toHaveLength(before);
		fromHost({ id: 5, method: "tools/call", params: { name: "a_b_first" } });
		fromHost({ method: "notifications/cancelled", params: { requestId: 5 } });
		expect(sent.slice(-2).map(([name, { method }]) => [name, method])).toEqual([
			["a b", "tools/call"],
			["a b", "notifications/cancelled"],
		]);
	});

	it("go on when one of them ends, whose calls get an error", async () => {
		const { ask, hub, fromHost, toHost } = await begun({
			"a b": (request: Json) => (request.method === "tools/call" ? undefined : server("a b")(request)),
			old: server("old"),
		});
		await ask("tools/list");
		fromHost({ id: 5, method: "tools/call", params: { name: "a_b_first" } });
		hub.ended("a b", "The server a b has ended.");
		expect(toHost.at(-1)).toMatchObject({ id: 5, error: { message: "The server a b has ended." } });
		expect(await ask("tools/call", { name: "a_b_first" })).toMatchObject({
			error: { message: "The server a b has ended." },
		});
		expect(await ask("tools/call", { name: "old_first" })).toMatchObject({ result: {} });
		const { result } = await ask("tools/list");
		expect((result as { tools: unknown[] }).tools).toHaveLength(2);
	});

	it("keep tools apart whose names with the server's before them are the same", async () => {
		const tools = (...names: string[]) => ({ "tools/list": { tools: names.map((name) => ({ name })) } });
		const { ask } = several({
			git: server("git", tools("hub_find")),
			git_hub: server("git_hub", tools("find")),
			"git hub": server("git hub", tools("find")),
		});
		await ask("initialize", { protocolVersion: "2025-11-25" });
		const listed = ((await ask("tools/list")).result as { tools: { name: string }[] }).tools.map(({ name }) => name);
		expect(listed).toEqual(["git_hub_find", "git_hub_find_2", "git_hub_2_find"]);
		const called = await Promise.all(listed.map((name, index) => ask("tools/call", { name }, `call ${index}`)));
		expect(called).toMatchObject(
			["git hub_find", "git_hub find", "git hub find"].map((text) => ({ result: { content: [{ text }] } })),
		);
	});
});
