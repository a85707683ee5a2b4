import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { startProblem } from "../../src/commands/entered-starts.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

afterEach(() => {
	vi.useRealTimers();
});

/** A program of this name that never answers. */
async function silent(name: string): Promise<string> {
	const file = join(await scratchFolder(), name);
	await writeFile(file, "#!/bin/sh\nexec cat >/dev/null\n");
	await chmod(file, 0o755);
	return file;
}

it.skipIf(process.platform === "win32").each([
	["server", [], 30, "no answer in 30 s"],
	[
		"npx",
		["-y", "a-server"],
		120,
		"no answer in 120 s; npx may still be fetching the package: start it once in a terminal",
	],
	["palimpsest", ["gateway", "npx", "-y", "a-server"], 120, expect.stringContaining("npx may still be fetching")],
] as const)("waits for %s with the arguments %j for %d s", async (name, args, seconds, problem) => {
	const command = await silent(name);
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
	const found = startProblem({ kind: "server", command, args, env: {} });
	vi.advanceTimersByTime(seconds * 1_000 - 1);
	const early = await Promise.race([found, Promise.resolve("waits")]);
	vi.advanceTimersByTime(1);
	expect([early, await found]).toEqual(["waits", problem]);
});
