import { spawnSync } from "node:child_process";
import { cp, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { packageFolder } from "../support/built-cli.ts";
import { cleanEnvironment } from "../support/scratch-folder.ts";
import type { Stage } from "./read-dockerfile.ts";

/**
 * Carries out a stage's COPY and RUN in a folder, as a shell does. The first install, from the lock, is that of the checkout: only
 * the build uses it, and to repeat it takes as long as all the rest.
 */
export async function carryOut({ instructions }: Pick<Stage, "instructions">, folder: string): Promise<void> {
	const environment = { ...cleanEnvironment(folder), npm_config_prefer_offline: "true", npm_config_loglevel: "error" };
	for (const { name, text } of instructions) {
		if (name === "COPY") {
			for (const source of text.split(/\s+/).slice(0, -1)) {
				await cp(join(packageFolder, source), join(folder, source), { recursive: true });
			}
		}
		if (name !== "RUN") continue;
		const modules = join(folder, "node_modules");
		if (text.startsWith("npm ci ")) {
			await symlink(join(packageFolder, "node_modules"), modules);
			continue;
		}
		if (text.includes("npm install ")) await rm(modules);
		const { status, stderr } = spawnSync("sh", ["-c", text], { cwd: folder, env: environment, encoding: "utf8" });
		expect(status, stderr).toBe(0);
	}
}
