import { Client, type ClientOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { onTestFinished } from "vitest";
import { builtCli } from "./built-cli.ts";
import { cleanEnvironment, scratchFolder } from "./scratch-folder.ts";

export const revision = "2026-07-28";
export const modes = ["legacy", "auto", { pin: revision }] as const;
export type Mode = (typeof modes)[number];

/** A client of the newer SDK, which speaks both eras; by default it insists on the newer one. */
export function newerClient(mode: Mode = { pin: revision }, options: ClientOptions = {}): Client {
	return new Client({ name: "test", version: "1.0.0" }, { versionNegotiation: { mode }, ...options });
}

/** Connects it to the built server on standard input and output, which is gone after the test. */
export async function connectStdio(
	client: Client,
	server: { readonly parameters?: readonly string[]; readonly environment?: Record<string, string> } = {},
): Promise<{ readonly folder: string }> {
	const folder = await scratchFolder();
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [builtCli, ...(server.parameters ?? [])],
		cwd: folder,
		env: { ...cleanEnvironment(folder), ...server.environment },
		stderr: "ignore",
	});
	await client.connect(transport);
	onTestFinished(() => client.close());
	return { folder };
}

/** What each request of that era carries, for requests by hand. */
export const envelope = {
	_meta: {
		"io.modelcontextprotocol/protocolVersion": revision,
		"io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
		"io.modelcontextprotocol/clientCapabilities": {},
	},
};
