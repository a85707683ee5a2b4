import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { loadConfig } from "../../../src/operations/config/config.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

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
		const { policy, ignored } = await loadConfig(sources);
		expect(policy.compaction.strategy).toBe("hiding-then-summary");
		expect(ignored).toEqual([{ key: "compaction.strategy", why: expect.stringContaining("are code") }]);
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
