import path from "node:path";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { installTools } from "../../conformance/install-tools.ts";
import { askSuite, type Era, eras } from "../../conformance/run-scenarios.ts";
import { nodeOf } from "../../conformance/run-tool.ts";
import { builtCli } from "../../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../../support/scratch-folder.ts";
import { startBridge } from "./http-bridge.ts";

const server = [process.execPath, path.join(import.meta.dirname, "conformance-server.js")];
const gateway = [process.execPath, builtCli, "gateway"];
/** Each checks something that the server has, so that its checks are made at all. */
const leastPassed = { "2025-11-25": 30, "2026-07-28": 40 } as const;

beforeAll(installTools, 300_000);

/** Where a program on standard input and output is served over HTTP until the test is over. */
async function addressOf([program = "", ...args]: readonly string[]): Promise<string> {
	const home = await scratchFolder();
	const bridge = await startBridge(program, args, { ...cleanEnvironment(home), PALIMPSEST_ARCHIVE: "memory" });
	onTestFinished(() => bridge.close());
	return bridge.url;
}

/** The checks of the suite: scenario, check and what came of it. */
async function checksOf(command: readonly string[], era: Era): Promise<string[]> {
	// The suite needs Node.js 22.
	const node = nodeOf(22) ?? process.execPath;
	const { scenarios } = await askSuite({ url: await addressOf(command), era, node });
	return [...scenarios]
		.flatMap(([name, checks]) => checks.map(({ id, status }) => `${status} ${name} ${id}`))
		.filter((line) => !line.startsWith("INFO "))
		.sort();
}

describe.each(eras)("the conformance suite of the protocol, revision $name", (era) => {
	it("finds the same through the gateway as directly, before a program and before an address", async () => {
		const direct = await checksOf(server, era);
		const behind = await checksOf([...gateway, "--", ...server], era);
		const remote = await checksOf([...gateway, await addressOf(server)], era);
		const passed = direct.filter((line) => line.startsWith("SUCCESS "));
		process.stdout.write(`${era.name}: ${passed.length} of ${direct.length} checks pass, directly and behind\n`);
		expect(behind).toEqual(direct);
		expect(remote).toEqual(direct);
		expect(passed.length).toBeGreaterThan(leastPassed[era.name as keyof typeof leastPassed]);
	}, 900_000);
});
