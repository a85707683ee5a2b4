import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openToolUse } from "../../../src/mcp/gateway/tool-use.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { call, inMemoryGateway, type Json, numberedLines, refIn, textIn, textResult } from "./in-memory-gateway.ts";

const tool = (name: string, description: string, more: Json = {}): Json => ({
	...{ name, description: `${description}. ${"It does so with great care. ".repeat(8)}` },
	inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
	...more,
});
const tools = [
	tool("read_file", "Reads a file"),
	tool("take_screenshot", "Take a screenshot of the page", { annotations: { readOnlyHint: true }, _meta: { a: 1 } }),
	tool("merge_pull_request", "Merge a pull request", { outputSchema: { type: "object" } }),
	tool("show_map", "Shows a map", { _meta: { ui: { resourceUri: "ui://map" } } }),
	tool("research", "Researches for long", { execution: { taskSupport: "required" } }),
];
const names = (result: Json) => (result.tools as { name: string }[]).map(({ name }) => name);

async function deferring(options: Parameters<typeof inMemoryGateway>[0] = {}) {
	const calls: (readonly [string, boolean])[] = [];
	const gateway = inMemoryGateway({
		recall: "command",
		defers: true,
		deferral: { keeps: (name) => name === "read_file", called: (name, { passed }) => void calls.push([name, passed]) },
		lists: tools,
		...options,
	});
	const list = (id: number) => gateway.answer({ id, method: "tools/list" }, { tools });
	return { ...gateway, list, calls };
}

describe("a list of tools of which few are used", () => {
	it("has the used ones, those that a host has to know, and a line for each of the others", async () => {
		const { list } = await deferring();
		const listed = await list(1);
		expect(names(listed)).toEqual(["read_file", "show_map", "research", "more_tools"]);
		const [, , , more] = listed.tools as { description: string }[];
		expect(more?.description.split("\n").slice(1)).toEqual([
			"take_screenshot: Take a screenshot of the page",
			"merge_pull_request: Merge a pull request",
		]);
		expect(await list(2)).toEqual(listed);
	});

	it.each([
		["the host defers tools itself", { clientInfo: { name: "claude-code" } }, {}],
		["nothing is deferred", {}, { defers: false }],
		["the list would be longer", {}, { deferral: { keeps: (name: string) => name !== "b", called: () => {} } }],
	])("stays where %s", async (_when, params, options) => {
		const { answer } = await deferring(options);
		await answer({ id: 1, method: "initialize", params }, {});
		const all = "deferral" in options ? [{ name: "a" }, { name: "b" }] : tools;
		expect(await answer({ id: 2, method: "tools/list" }, { tools: all })).toEqual({ tools: all });
	});

	it("has the tool by another name where the server has one of its name, and lists none that is left out", async () => {
		const { answer } = await deferring({ choice: { only: [], except: ["take_screenshot"] } });
		const listed = await answer(
			{ id: 1, method: "tools/list" },
			{ tools: [...tools, tool("more_tools", "Lists more")] },
		);
		expect(names(listed)).toEqual(["read_file", "show_map", "research", "palimpsest_more_tools"]);
		expect(JSON.stringify(listed)).not.toContain("take_screenshot");
	});
});

describe("the tool that lists the others", () => {
	it.each([
		[{ query: "make a picture of what the website looks like" }, "take_screenshot"],
		[{ query: "accept the PR" }, "merge_pull_request"],
		[{ name: "merge_pull_request" }, "merge_pull_request"],
	])("tells the full definition for %j", async (given, name) => {
		const { list, ownAnswer, toServer } = await deferring();
		await list(1);
		const { result } = await ownAnswer(call(2, "more_tools", given));
		const [first = ""] = textIn(result as Json).split("\n");
		expect(JSON.parse(first)).toEqual(tools.find((one) => one.name === name));
		expect(toServer).toHaveLength(1);
	});

	it("names the tools where none is found, and answers where the host has not asked for the list", async () => {
		const { ownAnswer } = await deferring();
		const { result } = await ownAnswer(call(2, "more_tools", { query: "xyzzy" }));
		expect(textIn(result as Json)).toMatch(/: take_screenshot, merge_pull_request$/);
	});

	it("passes a call on with all its fields, and cuts its result as that of the tool", async () => {
		const { list, fromHost, fromServer, toServer, toHost, lines, calls, ended } = await deferring();
		await list(1);
		fromHost(
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":9},"name":"more_tools","arguments":{"call":{"name":"merge_pull_request","arguments":{"path":"a\\u0062", "n":12345678901234567890}}}}}`,
		);
		await expect.poll(() => toServer.length).toBe(2);
		expect(toServer[1]).toBe(
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":9},"name":"merge_pull_request","arguments":{"path":"a\\u0062", "n":12345678901234567890}}}`,
		);
		fromServer({ jsonrpc: "2.0", id: 7, result: { ...textResult(numberedLines(1_000)), _meta: { b: 2 } } });
		await toHost.settled();
		const { result } = JSON.parse(lines().at(-1) ?? "");
		expect(result._meta).toEqual({ b: 2 });
		expect(refIn(textIn(result))).not.toBe("");
		expect(ended.map((end) => end.tool)).toEqual(["merge_pull_request"]);
		expect(calls).toEqual([["merge_pull_request", true]]);
	});

	it.each([
		[
			"arguments that do not fit",
			{ name: "take_screenshot", arguments: { path: 1 } },
			/do not fit its schema at \/path/,
		],
		["no arguments", { name: "take_screenshot" }, /do not fit its schema at \//],
		["an unknown tool", { name: "gone" }, /There is no tool "gone"/],
	])("refuses a call with %s, and the server does not get it", async (_what, given, words) => {
		const { list, ownAnswer, toServer, calls } = await deferring();
		await list(1);
		const { result } = await ownAnswer(call(2, "more_tools", { call: given }));
		expect(result).toMatchObject({ isError: true });
		expect(textIn(result as Json)).toMatch(words);
		expect([toServer.length, calls]).toEqual([1, []]);
	});

	it("gets the other calls of a batch to the server", async () => {
		const { list, fromHost, toServer } = await deferring();
		await list(1);
		const passed = call(3, "more_tools", { call: { name: "take_screenshot", arguments: { path: "a" } } });
		fromHost(JSON.stringify([call(2, "read_file"), passed]));
		await expect.poll(() => toServer.length).toBe(3);
		expect(JSON.parse(toServer[1] ?? "")).toEqual([call(2, "read_file")]);
		expect(JSON.parse(toServer[2] ?? "")).toEqual(call(3, "take_screenshot", { path: "a" }));
	});
});

describe("what is remembered of the calls of a server", () => {
	const used = async (sessions: readonly (readonly (readonly [string, boolean])[])[], kept: readonly string[] = []) => {
		const file = path.join(await scratchFolder(), "folder", "use.jsonl");
		for (const [session, calls] of sessions.entries()) {
			const use = await openToolUse({ file, session: `s${session}`, kept: [] });
			for (const [name, passed] of calls) use.called(name, { passed });
		}
		return { file, ...(await openToolUse({ file, session: "now", kept })) };
	};

	it("keeps the tools of the last 30 sessions with a call, and those of a file", async () => {
		const sessions = Array.from({ length: 31 }, (_, at) => [[`tool-${at}`, false]] as const);
		const { keeps } = await used(sessions, ["listed"]);
		expect(["tool-0", "tool-1", "tool-30", "listed", "other"].map(keeps)).toEqual([false, true, true, true, false]);
	});

	it("keeps a tool that was passed on twice, from the next start on", async () => {
		const { keeps, called } = await used([
			[
				["a", true],
				["b", true],
				["b", true],
			],
		]);
		expect(["a", "b"].map(keeps)).toEqual([false, true]);
		called("a", { passed: true });
		expect(keeps("a")).toBe(false);
	});

	it("keeps all before the first call, and writes a line a tool and session", async () => {
		const { file, keeps, called } = await used([]);
		expect(keeps("a")).toBe(true);
		for (let times = 0; times < 9; times += 1) called("a", { passed: false });
		expect((await readFile(file, "utf8")).trim().split("\n")).toHaveLength(1);
	});
});
