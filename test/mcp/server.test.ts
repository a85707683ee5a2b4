import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { LogEvent } from "../../src/log.ts";
import { toolError } from "../../src/mcp/answer.ts";
import { toolDefinition } from "../../src/mcp/offer.ts";
import { createServer } from "../../src/mcp/server.ts";
import { pureTool, type Tool } from "../../src/mcp/tool.ts";
import { tools } from "../../src/mcp/tools.ts";
import { policyJsonSchema } from "../../src/policy/check.ts";
import { secret } from "../support/agent-conversation.ts";
import { policyOf } from "../support/policy-of.ts";

type JsonSchema = {
	readonly properties?: Readonly<Record<string, JsonSchema>>;
	readonly additionalProperties?: unknown;
	readonly description?: string;
};

const policySource = {
	current: () => policyOf(),
	layers: () => [],
	file: () => null,
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

	it("the conversation tools show the policy fields for media and reasoning, which their reports advise to set", () => {
		for (const name of ["mask_conversation", "guard_context"]) {
			const tool = tools.find((one) => one.name === name) as Tool;
			expect(policyOf(tool)?.properties).toMatchObject({
				media: { enum: ["keep", "mask"] },
				thinking: { enum: ["auto", "keep", "strip_after_edit", "refuse"] },
			});
		}
	});

	const fieldsOf = (schema: JsonSchema | undefined, at = ""): string[] =>
		Object.entries(schema?.properties ?? {}).flatMap(([name, field]) => [
			at + name,
			...fieldsOf(field, `${at}${name}.`),
		]);

	/** The fields that a policy argument names: sections name theirs in their description. */
	const namedIn = (schema: JsonSchema | undefined): string[] =>
		Object.entries(schema?.properties ?? {}).flatMap(([name, { description }]) => [
			name,
			...(description?.split(", ").map((field) => `${name}.${field}`) ?? []),
		]);

	it.each(tools.filter(policyOf))("$name names exactly the fields of its sections of the policy", (tool) => {
		const ofTool = sections[tool.name as keyof typeof sections];
		const wanted = fieldsOf(policyJsonSchema() as JsonSchema).filter((field) =>
			ofTool.includes(field.split(".")[0] ?? ""),
		);
		const taken = namedIn(policyOf(tool));
		expect(wanted.length).toBeGreaterThan(3);
		expect(taken).toEqual(expect.arrayContaining(["preset", "locale", ...wanted]));
		expect(fieldsOf(policyJsonSchema() as JsonSchema)).toEqual(expect.arrayContaining(taken));
		expect(policyOf(tool)).toMatchObject({ type: "object", additionalProperties: false });
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
