import { fileURLToPath } from "node:url";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { RootsListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

/** Milliseconds that a client has to tell its roots. */
const patience = 10_000;

/** Roots of any scheme; the SDK's own schema would refuse all of a list in which one is no file. */
const rootsListed = z.object({ roots: z.array(z.object({ uri: z.string() })) });

/** The folders that a client offers as its roots; none where it offers none. Asked for once, and again when they change; no longer waited for once the client is `gone`. */
export function clientRoots(server: McpServer, gone?: AbortSignal): () => Promise<readonly string[]> {
	let known: Promise<readonly string[]> | undefined;
	server.server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
		known = undefined;
	});
	const ask = async (): Promise<readonly string[]> => {
		if (!server.server.getClientCapabilities()?.roots) return [];
		try {
			const { roots } = await server.server.request({ method: "roots/list" }, rootsListed, {
				timeout: patience,
				...(gone ? { signal: gone } : {}),
			});
			return roots.flatMap(({ uri }) => folderOf(uri) ?? []);
		} catch {
			// A client that fails to answer allows nothing; the next call asks again.
			known = undefined;
			return [];
		}
	};
	return () => {
		known ??= ask();
		return known;
	};
}

/** The folder that a root names; none for what is no folder of this machine, so that it does not cost the others. */
function folderOf(uri: string): string | undefined {
	try {
		return uri.startsWith("file:") ? fileURLToPath(uri) : undefined;
	} catch {
		return undefined;
	}
}
