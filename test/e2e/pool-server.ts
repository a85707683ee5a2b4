import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { onTestFinished } from "vitest";
import type { createArchiveSource as CreateArchiveSource } from "../../src/config/create-archive-source.ts";
import type { CallEnd } from "../../src/mcp/call-end.ts";
import type { CallPool, PoolOptions } from "../../src/mcp/pool/call-pool.ts";
import type { createPool as CreatePool } from "../../src/mcp/pool/create-pool.ts";
import type { HttpOptions, HttpService, serveHttp as ServeHttp } from "../../src/mcp/transports/http.ts";
import type { LogEvent } from "../../src/pipeline/log-event.ts";
import { resolvePolicy } from "../../src/policy/resolve-policy.ts";
import { type Connected, connect, type Face } from "../mcp/http-harness.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

/** A call that never ends by itself and gives nobody else a turn in its thread. */
export const endless = {
	name: "compact_conversation",
	arguments: { messages: agentConversation(60), force: true },
};

/** The built server with its pool, in this process, so that a test sees both. */
export interface PoolServer extends HttpService {
	readonly pool: CallPool;
	readonly ends: CallEnd[];
	readonly logged: LogEvent[];
	connect(face?: Face): Promise<Connected>;
}

/** Only what was built has threads: those of the sources would be TypeScript. */
const built = async <Shape>(file: string) =>
	(await import(pathToFileURL(resolve(packageFolder, "dist", file)).href)) as Shape;

/** Starts it on a free port; it is gone when the test is over. */
export async function poolServer(
	size: PoolOptions,
	options: Partial<HttpOptions> & { readonly where?: string } = {},
): Promise<PoolServer> {
	const { serveHttp } = await built<{ serveHttp: typeof ServeHttp }>("mcp/transports/http.js");
	const { createPool } = await built<{ createPool: typeof CreatePool }>("mcp/pool/create-pool.js");
	const { createArchiveSource } = await built<{ createArchiveSource: typeof CreateArchiveSource }>(
		"config/create-archive-source.js",
	);
	const pool = createPool(size);
	const ends: CallEnd[] = [];
	const logged: LogEvent[] = [];
	const folder = await scratchFolder();
	await writeFile(resolve(folder, "endless.mjs"), "export class Endless { compact() { for (;;); } }");
	const layers = () => [{ compaction: { strategy: "./endless.mjs#Endless" } }];
	const policy = () => resolvePolicy(layers());
	const archiveLocation = { where: options.where ?? "none", namespace: "default" };
	const service = await serveHttp({
		address: { host: "127.0.0.1", port: 0 },
		policySource: {
			current: policy,
			layers,
			file: () => resolve(folder, "policy.toml"),
			onChange: () => () => {},
			close() {},
		},
		log: (event) => logged.push(event),
		archive: createArchiveSource({ location: archiveLocation, policy }),
		archiveLocation,
		pool,
		onCallEnd: (end) => ends.push(end),
		shutdownMilliseconds: 200,
		...options,
	});
	onTestFinished(async () => {
		await service.close();
		await pool.close();
	});
	return { ...service, pool, ends, logged, connect: (face = "Streamable HTTP") => connect(service.url, face) };
}
