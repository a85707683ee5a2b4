import { describe, expect, it } from "vitest";
import { measure } from "../../src/engine/conversation/measure.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { splitWindow } from "../../src/operations/window-parts.ts";
import { requestOf, sessionApis, turnsOf } from "../proxy/sessions.ts";

/** A token is a character, and a message has 3 more. */
const meter = { countTokens: (text: string) => text.length, messageOverhead: 3 };

function split(conversation: unknown, isRequest = true) {
	const { transcript } = readConversation(conversation);
	const parts = splitWindow({
		transcript,
		paired: pairResults(transcript),
		meter,
		requestOverhead: 0,
		isRequest,
		scaled: (sizes) => sizes.map(({ tokens }) => tokens),
	});
	const total = measure(transcript, meter).total.tokens;
	expect(parts.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0)).toBe(total);
	return new Map(parts.map((part) => [part.part, part]));
}

const named = (name: string) => ({ name, description: "Does it.", input_schema: { type: "object" } });
const groupsOf = (tools: unknown, more: object = {}) =>
	(split({ messages: [{ role: "user", content: "Go." }], tools, ...more }).get("tools")?.groups ?? []).map(
		({ name, count }) => [name, count],
	);

describe("the parts of a window", () => {
	it.each(sessionApis)("match the fields: %s", (api) => {
		const turns = turnsOf(3, 500).map((turn, place) => {
			const input = { command: turn.command };
			return { ...turn, call: { name: place === 2 ? "mcp__files__read" : "bash", input } };
		});
		const body = JSON.parse(String(requestOf(api, turns, "Find it.").body));
		const parts = split(body);
		const tokensOf = (part: "people" | "reasoning") => parts.get(part)?.tokens;
		expect(tokensOf("people")).toBe("Find it.".length + 3);
		expect(tokensOf("reasoning")).toBe(api === "anthropic" ? 3 * "Turn 0.".length : 0);
		const input = turns.map(({ call }) => JSON.stringify(call.input).length + call.name.length);
		expect(parts.get("calls")?.tokens).toBe(input.reduce((sum, one) => sum + one, 0));
		const results = parts.get("tool_results")?.groups ?? [];
		expect(results.map(({ name, count }) => [name, count])).toEqual([
			["bash", 2],
			["mcp__files__read", 1],
		]);
		// The frame of a message with a result counts with the result; Gemini's has the name of the tool as well.
		expect(results[0]?.tokens).toBeGreaterThanOrEqual(2 * (500 + 3));
		expect(results[0]?.tokens).toBeLessThan(2 * (500 + 60));
		expect(parts.get("tools")?.groups).toHaveLength(1);
		expect(parts.get("system_prompt")?.tokens).toBeGreaterThanOrEqual("You are an agent.".length);
	});

	it("name the MCP server of a tool, in the form of each API", () => {
		const tools = ["Bash", "mcp__files__read", "mcp__files__write", "mcp__my_db__query"].map(named);
		const expected = [
			["files", 2],
			["my_db", 1],
			[null, 1],
		];
		expect(groupsOf(tools).toSorted()).toEqual(expected.toSorted());
		const functions = tools.map(({ name, input_schema: parameters }) => ({ name, parameters }));
		const chat = functions.map((one) => ({ type: "function", function: one }));
		expect(groupsOf(chat).toSorted()).toEqual(expected.toSorted());
		const gemini = [{ functionDeclarations: functions }, { googleSearch: {} }];
		const contents = [{ role: "user", parts: [{ text: "Go." }] }];
		const ofGemini = split({ contents, tools: gemini }).get("tools")?.groups;
		expect(ofGemini?.map(({ name, count }) => [name, count]).toSorted()).toEqual(
			[
				["files", 2],
				["my_db", 1],
				[null, 2],
			].toSorted(),
		);
		const toolConfig = { tools: functions.map(({ name }) => ({ toolSpec: { name, inputSchema: { json: {} } } })) };
		const ofBedrock = split({ messages: [{ role: "user", content: [{ text: "Go." }] }], toolConfig }).get(
			"tools",
		)?.groups;
		expect(ofBedrock?.map(({ name, count }) => [name, count]).toSorted()).toEqual(expected.toSorted());
		const namespace = { type: "namespace", name: "mcp__files", tools: functions.slice(0, 1) };
		const hosted = { type: "mcp", server_label: "docs", server_url: "http://127.0.0.1" };
		expect(groupsOf([namespace, hosted, { type: "web_search_20250305", name: "web_search" }]).toSorted()).toEqual(
			[
				["docs", 1],
				["files", 1],
				[null, 1],
			].toSorted(),
		);
		const sizes = split({ messages: [{ role: "user", content: "Go." }], tools }).get("tools");
		expect(sizes?.groups.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(sizes?.tokens);
	});

	it("take a system prompt in any form for one, and no list of texts for tools", () => {
		for (const system of ["[notes] {a}", [{ type: "text", text: "You are an agent." }], [{ text: "You are one." }]]) {
			const parts = split({ messages: [{ role: "user", content: "Go." }], system, tools: [named("Bash")] });
			expect(parts.get("system_prompt")?.tokens).toBe(
				(typeof system === "string" ? system : JSON.stringify(system)).length,
			);
			expect(parts.get("tools")?.groups).toMatchObject([{ name: null, count: 1 }]);
		}
	});

	it("are unknown where a record does not hold them, and 0 in a request", () => {
		const conversation = { messages: [{ role: "user", content: "Go." }] };
		const tokensOf = (isRequest: boolean) =>
			(["system_prompt", "tools"] as const).map((part) => split(conversation, isRequest).get(part)?.tokens);
		expect([tokensOf(false), tokensOf(true)]).toEqual([
			[null, null],
			[0, 0],
		]);
	});

	it("clean the names of tools and servers, which are untrusted", () => {
		const hostile = "\u001b[2Jname";
		const [group] =
			split({ messages: [{ role: "user", content: "Go." }], tools: [named(`mcp__${hostile}__x`)] }).get("tools")
				?.groups ?? [];
		// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal takes for a command
		expect(group?.name).not.toMatch(/[\u0000-\u001f]/);
	});
});
