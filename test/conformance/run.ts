import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { check, failureCount } from "./check.ts";
import { installTools } from "./install-tools.ts";
import { runInspector, waysTo } from "./run-inspector.ts";
import { eras, runScenarios } from "./run-scenarios.ts";
import { nodeOf } from "./run-tool.ts";
import { startServer } from "./start-server.ts";

/** `npm run conformance`: asks the built server as the protocol's own tools do. Exit code 1 where anything is wrong. */
async function run(): Promise<void> {
	installTools();
	const home = mkdtempSync(join(tmpdir(), "palimpsest-conformance-home-"));
	Object.assign(process.env, { HOME: home, USERPROFILE: home, PALIMPSEST_ARCHIVE: "memory" });
	const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
	const isNew = major > 22 || (major === 22 && minor >= 19);
	const [node22, node24] = [nodeOf(22) ?? (isNew ? process.execPath : undefined), nodeOf(24)];
	const server = await startServer(process.execPath, process.env);
	try {
		check("a Node of 22.19 or later for the suite and the Inspector", node22 !== undefined);
		if (node22 === undefined) return;
		const nodes = { [`Node ${major}`]: process.execPath, "Node 22": node22, ...(node24 && { "Node 24": node24 }) };
		// Each takes one processor.
		await Promise.all([
			oneByOne(eras, (era) => runScenarios(server.url, era, node22)),
			oneByOne(waysTo(server.url, nodes), (way) => runInspector(way, node22)),
		]);
	} finally {
		await server.end();
		rmSync(home, { recursive: true, force: true });
	}
}

async function oneByOne<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
	for (const item of items) await work(item);
}

await run();
if (failureCount() > 0) process.stdout.write(`${failureCount()} failed\n`);
process.exitCode = failureCount() > 0 ? 1 : 0;
