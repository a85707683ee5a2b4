import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { httpServer } from "./http-server.ts";
import { type RecalledAnswer, refsIn, structured, textOf } from "./recall-session.ts";

/** Serves over HTTP with an archive; answers with a function that connects a client, which calls tools. */
async function serveHttp(environment: Record<string, string>, parameters: readonly string[] = []) {
	const { url } = await httpServer(parameters, environment);
	return async () => {
		const client = new Client({ name: "test", version: "1.0.0" });
		await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as never);
		onTestFinished(() => client.close());
		return async (name: string, parameters: Record<string, unknown>) =>
			(await client.callTool({ name, arguments: parameters })) as CallToolResult;
	};
}

const messages = agentConversation(10);

it("over HTTP one session recalls the original that another masked, in memory or in files", async () => {
	for (const archive of ["memory", await scratchFolder()]) {
		const connect = await serveHttp({ PALIMPSEST_ARCHIVE: archive });
		const [one, other] = [await connect(), await connect()];
		const masked = structured<{ messages: unknown }>(await one("mask_conversation", { messages }));
		const [ref] = refsIn(masked.messages);
		expect(structured<RecalledAnswer>(await other("recall_original", { ref })).text).toBe(messages[3]?.content);
	}
});

it("over HTTP the server sets the namespace, by option or environment", async () => {
	const archive = await scratchFolder();
	const mine = await (await serveHttp({ PALIMPSEST_ARCHIVE: archive, PALIMPSEST_NAMESPACE: "mine" }))();
	const alsoMine = await (await serveHttp({}, ["--archive", archive, "--namespace", "mine"]))();
	const theirs = await (
		await serveHttp({ PALIMPSEST_NAMESPACE: "mine" }, ["--archive", archive, "--namespace", "b"])
	)();
	const masked = structured<{ messages: unknown }>(await mine("mask_conversation", { messages }));
	const [ref] = refsIn(masked.messages);
	expect(structured<RecalledAnswer>(await alsoMine("recall_original", { ref })).text).toBe(messages[3]?.content);
	expect(textOf(await theirs("recall_original", { ref }))).toMatch(/^\[original_not_found\] No original is kept under/);
});
