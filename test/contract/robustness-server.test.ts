import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { expect, it } from "vitest";
import { z } from "zod";
import { createServer } from "../../src/mcp/server.ts";
import { pureTool, type Tool } from "../../src/mcp/tool.ts";
import { policyOf } from "../support/policy-of.ts";

it("the list of tools and their schemas are built once for each server (docs/compaction.md#no-repeated-work)", async () => {
	const reads = { description: 0, inputSchema: 0 };
	const tool: Tool = {
		name: "test_tool",
		title: "Test",
		annotations: pureTool,
		outputSchema: z.looseObject({}),
		handle: () => Promise.reject(new Error("Not called here.")),
		get description() {
			reads.description += 1;
			return "A tool of a test.";
		},
		get inputSchema() {
			reads.inputSchema += 1;
			return z.object({ text: z.string() });
		},
	};
	const policySource = {
		current: () => policyOf(),
		layers: () => [],
		file: () => null,
		found: () => null,
		onChange: () => () => {},
		close() {},
	};
	const server = createServer({ policySource, tools: [tool], log() {} });
	const bound = { ...reads };
	expect(bound.inputSchema).toBeGreaterThan(0);
	const client = new Client({ name: "test", version: "1.0.0" });
	const [near, far] = InMemoryTransport.createLinkedPair();
	await Promise.all([server.connect(far), client.connect(near)]);
	const lists = [await client.listTools(), await client.listTools(), await client.listTools()];
	await client.close();
	expect(reads).toEqual(bound);
	expect(lists[2]).toEqual(lists[0]);
	expect(lists[0]?.tools[0]?.inputSchema.properties).toHaveProperty("text");
});
