import { expect, it } from "vitest";
import { count } from "../../src/library.ts";
import { stdioSession } from "../support/stdio-session.ts";

it("tools/list matches the reviewed snapshot and costs a host under 2 000 tokens", async () => {
	const { client } = await stdioSession({ parameters: ["--archive", "memory"] });
	const { tools } = await client.listTools();
	expect(tools).toHaveLength(5);
	expect((await count(JSON.stringify(tools))).tokens).toBeLessThan(2_000);
	for (const { description = "" } of tools) expect(Buffer.byteLength(description)).toBeLessThan(2_048);
	expect(Buffer.byteLength(client.getInstructions() ?? "")).toBeLessThan(2_048);
	await expect(`${JSON.stringify(tools, null, "\t")}\n`).toMatchFileSnapshot("tools-list.snapshot");
});
