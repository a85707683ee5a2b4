import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { onTestFinished } from "vitest";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import type { CallEnd, LogEvent } from "../../src/log.ts";
import type { HttpOptions, HttpService, serveHttp as ServeHttp } from "../../src/mcp/http/server.ts";
import type { CallPool, createPool as CreatePool } from "../../src/mcp/pool/pool.ts";
import type { createArchiveSource as CreateArchiveSource } from "../../src/storage/archive/open.ts";
import { type Connected, connect, type Face } from "../mcp/http/harness.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { bundleModules } from "../support/bundle-modules.ts";
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

/** Worker threads run JavaScript, so the server is bundled first, once for each process of tests. */
let bundled: Promise<readonly [BundledHttp, BundledPool, BundledArchive]> | undefined;
interface BundledHttp {
	readonly serveHttp: typeof ServeHttp;
}
interface BundledPool {
	readonly createPool: typeof CreatePool;
}
interface BundledArchive {
	readonly createArchiveSource: typeof CreateArchiveSource;
}

async function bundleServer(): Promise<readonly [BundledHttp, BundledPool, BundledArchive]> {
	const sources = ["mcp/http/server.ts", "mcp/pool/pool.ts", "storage/archive/open.ts", "mcp/pool/thread.ts"];
	const [http = "", pool = "", archive = ""] = await bundleModules(sources, "process");
	return [await import(http), await import(pool), await import(archive)];
}

/** Starts it on a free port; it is gone when the test is over. */
export async function poolServer(
	size: Parameters<typeof CreatePool>[0],
	options: Partial<HttpOptions> & { readonly where?: string } = {},
): Promise<PoolServer> {
	bundled ??= bundleServer();
	const [{ serveHttp }, { createPool }, { createArchiveSource }] = await bundled;
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
			found: () => null,
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
