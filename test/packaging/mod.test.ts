import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";

it("the module in the plugin of Claude Code is what the sources build: run `npm run mod`", async () => {
	const script = pathToFileURL(join(packageFolder, "scripts/build-mod.js")).href;
	const { buildMod } = (await import(script)) as { buildMod: () => Promise<string> };
	const written = await readFile(join(packageFolder, "plugins/claude-code/hooks/palimpsest.js"), "utf8");
	// Not `toBe`: the difference of two files of 380 kB would fill the screen.
	expect(written === (await buildMod())).toBe(true);
});
