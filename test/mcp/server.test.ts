import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { policyJsonSchema } from "../../src/engine/policy/check.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import type { LogEvent } from "../../src/log.ts";
import { toolError } from "../../src/mcp/answer.ts";
import { toolDefinition } from "../../src/mcp/offer.ts";
import { createServer } from "../../src/mcp/server.ts";
import { pureTool, type Tool } from "../../src/mcp/tool.ts";
import { tools, toolsNamed } from "../../src/mcp/tools.ts";
import { secret } from "../support/agent-conversation.ts";
import { policyOf } from "../support/policy-of.ts";

type JsonSchema = {
	readonly type?: string;
	readonly properties?: Readonly<Record<string, JsonSchema>>;
	readonly additionalProperties?: unknown;
	readonly description?: string;
};

const policySource = {
	current: () => policyOf(),
	layers: () => [],
	file: () => null,
	found: () => null,
	onChange: () => () => {},
	close() {},
};

/** A tool that does what the test says. */
function toolThat(handle: Tool["handle"]): Tool {
	return {
		name: "test_tool",
		title: "Test",
		description: "A tool of a test.",
		annotations: pureTool,
		inputSchema: z.object({}),
		outputSchema: z.looseObject({}),
		handle,
	};
}

async function callOf(handle: Tool["handle"], parameters = {}): Promise<{ answer: CallToolResult; log: LogEvent[] }> {
	const log: LogEvent[] = [];
	const server = createServer({ policySource, tools: [toolThat(handle)], log: (event) => void log.push(event) });
	const client = new Client({ name: "test", version: "1.0.0" });
	const [near, far] = InMemoryTransport.createLinkedPair();
	await Promise.all([server.connect(far), client.connect(near)]);
	const answer = (await client.callTool({ name: "test_tool", arguments: parameters })) as CallToolResult;
	await client.close();
	return { answer, log: log.filter(({ level }) => level === "error") };
}

describe("a defect in a handler", () => {
	it.each([
		["an error", new TypeError(`Cannot read ${secret}`), "TypeError"],
		["any other thrown value", secret, "string"],
	])("%s is answered without its details, and logged by its kind", async (_what, thrown, kind) => {
		const { answer, log } = await callOf(() => Promise.reject(thrown));
		expect(answer).toEqual(toolError(thrown));
		expect(answer.content).toEqual([
			{ type: "text", text: "[internal] The call failed because of a defect in the server." },
		]);
		expect(log).toMatchObject([
			{ level: "error", message: "test_tool failed", data: { event: "defect", error: kind } },
		]);
		expect(JSON.stringify(log)).not.toContain(secret);
	});

	it("that throws at once is answered the same way", async () => {
		const { answer } = await callOf(() => {
			throw new Error(secret);
		});
		expect(answer).toEqual(toolError(new Error()));
	});
});

it("names every unknown argument, with the nearest known one or all", async () => {
	const { answer } = await callOf(async () => ({}), { one: secret, two: 2 });
	expect(answer.isError).toBe(true);
	expect(answer.content).toEqual([
		{ type: "text", text: expect.stringMatching(/^\[invalid_argument\] .*test_tool:\n- "one": unknown .*\n- "two": /) },
	]);
});

describe("definitions", () => {
	const sections = {
		mask_conversation: ["mask"],
		guard_context: ["mask", "guard", "truncate"],
		truncate_output: ["truncate"],
		compact_conversation: ["compaction"],
	};
	const policyOf = (tool: Tool) => (toolDefinition(tool).inputSchema as JsonSchema).properties?.policy;

	it.each(tools.filter(policyOf))(
		"$name names the sections of the policy that it reads, and where their fields are",
		(tool) => {
			const { type, description = "" } = policyOf(tool) ?? {};
			const named = /^Override (.*); see policy:\/\/schema\.$/.exec(description)?.[1]?.split(", ") ?? [];
			expect(type).toBe("object");
			expect(named).toEqual(expect.arrayContaining(["preset", ...sections[tool.name as keyof typeof sections]]));
			expect(Object.keys((policyJsonSchema() as JsonSchema).properties ?? {})).toEqual(expect.arrayContaining(named));
		},
	);

	it("every argument has a sentence that says what to give, and all definitions stay under 1 900 tokens, those for models under 450", async () => {
		const countTokens = await loadCounter("o200k_base");
		const tokensOf = (some: readonly Tool[]) => countTokens(JSON.stringify(some.map(toolDefinition)));
		for (const tool of tools) {
			for (const [name, field] of Object.entries((toolDefinition(tool).inputSchema as JsonSchema).properties ?? {})) {
				// A sentence, since a note such as "Last lines" does not tell a model what to give.
				expect(field.description, `${tool.name} ${name}`).toMatch(/^\S+ \S.{8,}\.$/);
			}
		}
		expect(tokensOf(tools)).toBeLessThan(1_900);
		expect(tokensOf(toolsNamed(["truncate_output", "recall_original"]))).toBeLessThan(450);
	});

	it.each(tools)(
		"$name fits hosts that cut descriptions at 2 KB and providers that take plain schemas only",
		(tool) => {
			const definition = toolDefinition(tool);
			const json = JSON.stringify(definition);
			for (const [, description] of json.matchAll(/"description":"((?:[^"\\]|\\.)*)"/g)) {
				expect(Buffer.byteLength(description ?? "")).toBeLessThan(2_048);
			}
			expect(definition.inputSchema.type).toBe("object");
			expect(json).not.toMatch(/"\$(?:schema|ref|defs)"|"additionalProperties":\{\}|"type":\[/);
		},
	);
});
