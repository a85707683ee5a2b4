import type { CompactionSource } from "../config/create-compaction-source.ts";
import { type HttpOptions, serveHttp } from "../mcp/transports/http.ts";
import { parseAddress } from "../mcp/transports/parse-address.ts";
import { say } from "./shell.ts";

/** `palimpsest serve --http`: serves until a signal ends it. Loaded on demand, so that stdio starts without Express. */
export async function serveOverHttp(
	options: Omit<HttpOptions, "address"> & {
		readonly compaction?: CompactionSource | undefined;
		readonly address: string | true;
	},
): Promise<void> {
	const { address, policySource, archive, compaction } = options;
	const service = await serveHttp({ ...options, address: parseAddress(address) });
	say(`serving MCP at ${service.url}/mcp (Streamable HTTP) and ${service.url}/sse (HTTP+SSE)`);
	const leave = () => {
		policySource.close();
		archive?.end();
		void compaction?.close();
		void service.close().finally(() => process.exit(0));
	};
	process.once("SIGTERM", leave);
	process.once("SIGINT", leave);
	process.once("SIGHUP", leave);
}
