import { describe, expect, it } from "vitest";
import { readConversation } from "../../../src/formats/detect.ts";
import { headChange } from "../../../src/proxy/billing/head-change.ts";
import { headOf, settingsOf } from "../../../src/proxy/billing/request-head.ts";

const schema = { type: "object" };
const bodies = {
	"anthropic-messages": (names: readonly string[], system: string) => ({
		system: [{ type: "text", text: system }],
		tools: names.map((name) => ({ name, input_schema: schema })),
		messages: [{ role: "user", content: "Go on." }],
	}),
	"openai-chat": (names: readonly string[], system: string) => ({
		tools: names.map((name) => ({ type: "function", function: { name, parameters: schema } })),
		messages: [
			{ role: "system", content: system },
			{ role: "user", content: "Go on." },
		],
	}),
	"openai-responses": (names: readonly string[], instructions: string) => ({
		instructions,
		tools: names.map((name) => ({ type: "function", name, parameters: schema })),
		input: [{ type: "message", role: "user", content: "Go on." }],
	}),
	gemini: (names: readonly string[], text: string) => ({
		systemInstruction: { parts: [{ text }] },
		tools: [{ functionDeclarations: names.map((name) => ({ name, parameters: schema })) }],
		contents: [{ role: "user", parts: [{ text: "Go on." }] }],
	}),
} as const;

const read = (body: unknown, format: string) =>
	headOf(body, readConversation(body, "auto", { names: [format] }).transcript);

describe.each(Object.keys(bodies) as (keyof typeof bodies)[])("the head of a request (%s)", (format) => {
	const of = bodies[format];

	it("holds the names of the tools in their order, and the system prompt", () => {
		const head = read(of(["read", "write"], "You are an agent."), format);
		expect(head.tools.map(({ name }) => name)).toEqual(["read", "write"]);
		expect(head).toMatchObject({ system: "You are an agent.", systemChars: 17 });
	});

	it("shows which tool was added and where the system prompt differs", () => {
		const before = read(of(["read", "write"], "You are an agent."), format);
		expect(headChange(before, read(of(["read", "write"], "You are an agent."), format))).toBeUndefined();
		expect(headChange(before, read(of(["read", "mcp__db__ask"], "You are."), format))).toEqual({
			cause: "tools",
			detail: "tools: +mcp__db__ask, -write",
			servers: ["db"],
		});
		expect(headChange(before, read(of(["read", "write"], "You are a poet."), format))).toMatchObject({
			cause: "system",
			detail: "system differs at 9 of 15 characters",
		});
	});

	it("takes the tools of the head before over if they are the same", () => {
		const body = of(["read"], "You are an agent.");
		const before = read(body, format);
		const { transcript } = readConversation(structuredClone(body), "auto", { names: [format] });
		expect(headOf(body, transcript, before).tools).toBe(before.tools);
	});

	it("keeps a long system prompt in part", () => {
		const head = read(of([], "x".repeat(1_000_000)), format);
		expect(head.system.length).toBeLessThan(100_000);
		expect(head.systemChars).toBe(1_000_000);
	});
});

it("breakpoints, the billing header of Claude Code and deferred tools are not part of a head", () => {
	const plain = bodies["anthropic-messages"](["read"], "You are an agent.");
	const marked = {
		...plain,
		system: [
			{ type: "text", text: "x-anthropic-billing-header: cch=12345;" },
			{ ...plain.system[0], cache_control: { type: "ephemeral" } },
		],
		tools: [
			{ ...plain.tools[0], cache_control: { type: "ephemeral" } },
			{ name: "later", input_schema: schema, defer_loading: true },
		],
	};
	const heads = [plain, marked].map((body) => read(body, "anthropic-messages"));
	expect(heads[1]?.system).toBe(heads[0]?.system);
	expect(heads[1]?.tools).toEqual(heads[0]?.tools);
});

it("the tools of a server that Codex groups have its name", () => {
	const of = (...names: string[]) => ({
		...bodies["openai-responses"](["shell"], "You are an agent."),
		tools: [{ type: "namespace", name: "mcp__files__", tools: names.map((name) => ({ type: "function", name })) }],
	});
	const [before, now] = [of("read"), of("read", "list")].map((body) => read(body, "openai-responses"));
	expect(before && now && headChange(before, now)).toMatchObject({
		detail: "tools: +mcp__files__list",
		servers: ["files"],
	});
});

it("settings are words and numbers as they are, and anything else hashed", () => {
	const body = {
		messages: [{ role: "user", content: "Go on." }],
		thinking: { type: "enabled", budget_tokens: 8_000 },
		tool_choice: { type: "auto" },
		output_config: { effort: "high", format: { type: "json_schema", schema: { title: "The user's words" } } },
		prompt_cache_key: "the user's words",
		metadata: { user_id: "somebody" },
		max_tokens: 10,
	};
	const { transcript } = readConversation(body);
	const settings = settingsOf(body, transcript);
	expect(settings).toMatchObject({
		"thinking.type": "enabled",
		"thinking.budget_tokens": "8000",
		tool_choice: "auto",
		"output_config.effort": "high",
		"output_config.format": expect.stringMatching(/^#[0-9a-f]{8}$/),
		prompt_cache_key: expect.stringMatching(/^#[0-9a-f]{8}$/),
	});
	expect(Object.keys(settings)).toHaveLength(6);
	expect(settingsOf({ request: { contents: [], toolConfig: { mode: "ANY" } } }, transcript)).toEqual({
		toolConfig: "ANY",
	});
});
