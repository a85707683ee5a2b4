import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { count } from "../../src/library.ts";
import { packageFolder } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { type StandInModel, startStandInModel } from "../support/stand-in-model.ts";

const run = promisify(execFile);
const folder = join(packageFolder, "examples");
const isInstalled = existsSync(join(folder, "node_modules/palimpsest-mcp"));
const programs = ["openai-loop", "anthropic-loop", "vercel-ai", "langchain", "openai-agents", "mcp-client"];
/** Those with an adapter keep the last eight turns, and mask when the window is nearly full; a busy machine plans one request later. */
const adapted: readonly string[] = ["vercel-ai", "langchain", "openai-agents"];
if (!isInstalled && process.env.CI)
	throw new Error("The examples' own dependencies are absent: npm ci --prefix examples");
if (!isInstalled) process.stderr.write("Skipped: examples. Run `npm ci --prefix examples` first.\n");

let model: StandInModel;
beforeEach(async () => {
	model = await startStandInModel();
});
afterEach(() => model.close());

describe.skipIf(!isInstalled)("the examples", () => {
	it.each(programs)("%s keeps a run of 30 000 tokens within a window of 32 000", async (name) => {
		const home = await scratchFolder();
		const env = {
			...cleanEnvironment(home),
			XDG_STATE_HOME: home,
			PALIMPSEST_ARCHIVE: join(home, "originals"),
			OPENAI_BASE_URL: `${model.origin}/v1`,
			OPENAI_API_KEY: "none",
			ANTHROPIC_BASE_URL: model.origin,
			ANTHROPIC_API_KEY: "none",
		};
		const { stdout } = await run(process.execPath, [`${name}.js`], { cwd: folder, env });
		expect(stdout.trim()).toBe("All twelve files are read.");
		expect(model.requests).toHaveLength(13);
		const texts = model.requests.map((request) => JSON.stringify(request));
		const sizes = await Promise.all(texts.map(async (text) => (await count(text)).tokens));
		expect(Math.max(...sizes)).toBeLessThan(32_000);
		expect(sizes.reduce((sum, size) => sum + size)).toBeGreaterThan(100_000);
		// Every call is there to the end, most results as what stands in their place; the first is whole meanwhile.
		const last = texts.at(-1) ?? "";
		const calls = Array.from({ length: 12 }, (_, index) => last.includes(`settings/file-${index + 1}.ts`));
		expect(calls).toEqual(Array(12).fill(true));
		expect(last.match(/\[masked [^"]* #\w+\]/g)?.length ?? 0).toBeGreaterThanOrEqual(adapted.includes(name) ? 1 : 5);
		expect(texts[1]?.includes("[masked ")).toBe(false);
	});

	it("say in one line that the model does not answer", async () => {
		const home = await scratchFolder();
		const dead = model.origin;
		await model.close();
		const env = {
			...cleanEnvironment(home),
			XDG_STATE_HOME: home,
			OPENAI_BASE_URL: `${dead}/v1`,
			OPENAI_API_KEY: "none",
			ANTHROPIC_BASE_URL: dead,
			ANTHROPIC_API_KEY: "none",
		};
		const failed = await run(process.execPath, ["langchain.js"], { cwd: folder, env }).catch((error) => error);
		expect(failed.code).toBe(1);
		expect(failed.stderr).toMatch(/^The example stopped: .*ECONNREFUSED.*\(the model is asked at http:\/\/127.*\)\n$/);
	});

	it("are all run here", () => {
		const others = ["models.js", "read-file.js", "readable-errors.js", "link-palimpsest.js"];
		const files = readdirSync(folder).filter((file) => file.endsWith(".js") && !others.includes(file));
		expect(files.sort()).toEqual(programs.map((name) => `${name}.js`).sort());
	});
});

it("the page on agent programs links to every example, and shows the first unchanged", () => {
	const page = readFileSync(join(packageFolder, "docs/agents.md"), "utf8");
	const shown = Array.from(page.matchAll(/^```js\n([\s\S]*?)^```$/gm), ([, code]) => code);
	expect(shown).toEqual([readFileSync(join(folder, `${programs[0]}.js`), "utf8")]);
	const linked = new Set(Array.from(page.matchAll(/\]\(\.\.\/examples\/([\w-]+)\.js\)/g), ([, name]) => name));
	expect([...linked].sort()).toEqual([...programs].sort());
});
