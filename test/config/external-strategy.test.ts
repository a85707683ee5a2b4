import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { packageTarget } from "../../src/config/external-strategy.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

describe("packageTarget", () => {
	it.each([
		["a text", "./main.js", ".", "./main.js"],
		["a list", ["no-file", "./main.js"], ".", "./main.js"],
		["conditions", { types: "./main.d.ts", import: "./main.js", default: "./other.js" }, ".", "./main.js"],
		["conditions in their order", { default: "./other.js", import: "./main.js" }, ".", "./other.js"],
		["conditions within conditions", { node: { require: "./a.cjs", import: "./a.js" } }, ".", "./a.js"],
		["a condition without a target", { node: { require: "./a.cjs" }, default: "./b.js" }, ".", "./b.js"],
		["a subpath", { ".": "./main.js", "./one": { import: "./one.js" } }, "./one", "./one.js"],
		["one that is closed", { "./secret": null }, "./secret", undefined],
		["require alone", { require: "./main.cjs" }, ".", undefined],
		["another subpath", { "./one": "./one.js" }, "./two", undefined],
		["no subpath but the package", "./main.js", "./two", undefined],
		["a file outside", "./../elsewhere.js", ".", undefined],
		["nothing", undefined, ".", undefined],
	])("%s", (_, exports, subpath, target) => {
		expect(packageTarget(exports, subpath)).toBe(target);
	});
});

const named = '[compaction]\nstrategy = "./strategy.mjs#Shorter"\n';

async function folders() {
	const root = await scratchFolder();
	const [work, home] = [path.join(root, "work"), path.join(root, "home")];
	const users = path.join(home, ".config", "palimpsest");
	await mkdir(work);
	await mkdir(users, { recursive: true });
	return { users, sources: { workingDirectory: work, home, environment: {}, platform: "linux" as const } };
}

it("refuses code named by a policy file that the user did not choose: opening a project runs nothing", async () => {
	const { users, sources } = await folders();
	const file = path.join(sources.workingDirectory, "palimpsest.toml");
	for (const text of [named.replace("#", ":"), named]) {
		await writeFile(file, text);
		await expect(loadConfig(sources)).rejects.toMatchObject({
			code: "invalid_policy",
			message: expect.stringMatching(/found in the working directory.*--policy FILE/s),
		});
	}
	for (const trusting of [{ policyFile: "palimpsest.toml" }, { environment: { PALIMPSEST_POLICY: file } }]) {
		const { policy } = await loadConfig({ ...sources, ...trusting });
		expect(policy.compaction.strategy).toBe("./strategy.mjs#Shorter");
	}
	const settings = ["compaction.strategy=./strategy.mjs#Shorter"];
	await writeFile(file, "");
	expect((await loadConfig({ ...sources, settings })).policy.compaction.strategy).toBe("./strategy.mjs#Shorter");
	await writeFile(file, '[compaction]\nstrategy = "llm-summary"\n');
	expect((await loadConfig(sources)).policy.compaction.strategy).toBe("llm-summary");
	const elsewhere = { ...sources, workingDirectory: path.dirname(sources.workingDirectory) };
	await writeFile(path.join(users, "palimpsest.toml"), named);
	expect((await loadConfig(elsewhere)).policy.compaction.strategy).toBe("./strategy.mjs#Shorter");
});
