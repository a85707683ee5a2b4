import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type CallToolResult, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { httpServer } from "./http-server.ts";
import { firstText, uriOf } from "./path-session.ts";

/** Serves over HTTP from a folder; answers with a function that masks the file at a path. */
async function serveHttp(folder: string, parameters: readonly string[]) {
	const { url } = await httpServer(parameters, {}, folder);
	const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { roots: {} } });
	client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: uriOf(folder) }] }));
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as never);
	onTestFinished(() => client.close());
	return async (path: string, more: Record<string, unknown> = { respond_with: "report" }) =>
		(await client.callTool({ name: "mask_conversation", arguments: { path, ...more } })) as CallToolResult;
}

it("over HTTP no path is allowed, even if the client offers roots", async () => {
	const folder = await scratchFolder();
	await writeFile(join(folder, "chat.json"), JSON.stringify(agentConversation(10)));
	const mask = await serveHttp(folder, []);
	for (const path of ["chat.json", join(folder, "chat.json"), "absent.json"]) {
		expect(firstText(await mask(path))).toMatch(/^\[path_not_allowed\] .*start the server with --allow-path DIR/);
	}
});

it("over HTTP the paths under --allow-path are allowed", async () => {
	const folder = await scratchFolder();
	await mkdir(join(folder, "allowed"));
	for (const name of ["chat.json", "allowed/chat.json"]) {
		await writeFile(join(folder, name), JSON.stringify(agentConversation(10)));
	}
	const mask = await serveHttp(folder, ["--allow-path", join(folder, "allowed")]);
	expect((await mask("allowed/chat.json")).structuredContent).toMatchObject({ report: { changed: true } });
	expect(firstText(await mask("chat.json"))).toMatch(/^\[path_not_allowed\]/);
	const { structuredContent } = await mask("allowed/chat.json", {});
	const written = join(folder, "allowed", "chat.masked.json");
	expect(structuredContent).toEqual({ report: expect.anything(), output_path: written });
	expect(await readFile(written, "utf8")).toContain("Observation masquée");
	expect(firstText(await mask("chat.json", {}))).toMatch(/^\[path_not_allowed\]/);
	expect(await readdir(folder)).toEqual(["allowed", "chat.json"]);
});
