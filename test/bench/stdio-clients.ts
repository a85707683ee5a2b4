import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { builtUrl } from "./import-built.ts";

/** A server in a process of its own with the SDK's client connected to it. */
export interface StdioServer {
	readonly name: string;
	/** Calls a tool; answers the number of characters that came back. */
	call(tool: string, parameters: Record<string, unknown>): Promise<number>;
	close(): Promise<void>;
}

/** Scripts of the servers that are compared. */
export const serverScripts = {
	palimpsest: fileURLToPath(builtUrl("cli.ts")),
	sdkTransport: fileURLToPath(new URL("sdk-transport-server.js", import.meta.url)),
	oneNumber: fileURLToPath(new URL("one-number-server.js", import.meta.url)),
};

/** Starts a server in an empty folder and connects to it. */
export async function startServer(name: keyof typeof serverScripts): Promise<StdioServer> {
	const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [serverScripts[name]],
		cwd: folder,
		env: { ...getDefaultEnvironment(), PALIMPSEST_ARCHIVE: "none" },
		maxBufferSize: 64 * 1024 * 1024,
	});
	const client = new Client({ name: "bench", version: "1.0.0" });
	await client.connect(transport);
	return {
		name,
		async call(tool, parameters) {
			const answer = await client.callTool({ name: tool, arguments: parameters }, undefined, { timeout: 300_000 });
			const text = JSON.stringify(answer.content);
			if (answer.isError === true) throw new Error(`${tool} of ${name} failed: ${text.slice(0, 500)}`);
			return text.length;
		},
		async close() {
			await client.close();
			rmSync(folder, { recursive: true, force: true });
		},
	};
}
