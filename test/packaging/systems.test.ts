import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { packageFolder } from "../support/built-cli.ts";

it("the quick tests run on each system with each supported version of Node.js", async () => {
	const workflow = parse(await readFile(join(packageFolder, ".github/workflows/systems.yml"), "utf8"));
	const { test } = workflow.jobs;
	const systems = test.strategy.matrix.system.map((name: string) => name.split("-")[0]);
	expect(systems).toEqual(["ubuntu", "macos", "windows"]);
	const { engines, scripts } = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));
	expect(engines.node).toBe(">=20.19");
	expect(test.strategy.matrix.node).toEqual([20, 22, 24]);
	expect(workflow.permissions).toEqual({ contents: "read" });
	const commands = test.steps.flatMap(({ run }: { run?: string }) => run ?? []);
	for (const [, name = ""] of commands.map((one: string) => /^npm (?:run )?(\w+)/.exec(one) ?? [])) {
		expect(["ci", ...Object.keys(scripts)]).toContain(name);
	}
	const actions = test.steps.flatMap(({ uses }: { uses?: string }) => uses ?? []);
	for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
});
