import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const hook = /^(?:before|after)(?:All|Each)\(/m;

it("no module beside tests has a hook of its own, which only the first test file that imports it would get", () => {
	const modules = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter(
		(path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !path.endsWith("support/clean-up.ts"),
	);
	expect(modules.length).toBeGreaterThan(200);
	expect(modules.filter((path) => hook.test(readFileSync(join(import.meta.dirname, path), "utf8")))).toEqual([]);
});
