import { fileURLToPath } from "node:url";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { RootsListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

/** The folders that a client offers as its roots; none where it offers none. Asked for once, and again when they change. */
export function clientRoots(server: McpServer): () => Promise<readonly string[]> {
	let known: Promise<readonly string[]> | undefined;
	server.server.setNotificationHandler(RootsListChangedNotificationSchema, () => {
		known = undefined;
	});
	const ask = async (): Promise<readonly string[]> => {
		if (!server.server.getClientCapabilities()?.roots) return [];
		try {
			const { roots } = await server.server.listRoots();
			return roots.flatMap(({ uri }) => (uri.startsWith("file:") ? [fileURLToPath(uri)] : []));
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
