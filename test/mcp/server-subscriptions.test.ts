import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { expect, test } from "vitest";
import { createServer } from "../../src/mcp/server.ts";
import { patience } from "../support/patience.ts";
import { stubPolicySource } from "./http/harness.ts";

test("does not keep an endless list of unknown names that a client subscribes to", async () => {
	setFlagsFromString("--expose_gc");
	const gc = runInNewContext("gc") as () => void;
	const client = new Client({ name: "test", version: "1" });
	const server = createServer({ policySource: stubPolicySource(), log: () => {} });
	const [near, far] = InMemoryTransport.createLinkedPair();
	await Promise.all([server.connect(far), client.connect(near)]);

	const held = (): number => {
		gc();
		const { heapUsed, external } = process.memoryUsage();
		return heapUsed + external;
	};
	const subscribe = (index: number) =>
		client.subscribeResource({ uri: `policy://${index}${Buffer.alloc(4_000_000, "x").toString("latin1")}` });
	await subscribe(0);
	const before = held();
	for (let index = 1; index <= 20; index += 1) await subscribe(index);
	// What is let go of is taken back in its own time; what is kept never is.
	await expect.poll(() => held() - before, patience).toBeLessThan(20_000_000);
	await client.close();
});
