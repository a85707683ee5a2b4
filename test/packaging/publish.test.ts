import { execFile } from "node:child_process";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const run = promisify(execFile);
const read = (name: string) => readFile(join(packageFolder, name), "utf8");

interface Step {
	readonly name?: string;
	readonly if?: string;
	readonly uses?: string;
	readonly run?: string;
	readonly with?: Readonly<Record<string, unknown>>;
}
interface Workflow {
	readonly permissions: object;
	readonly jobs: Readonly<
		Record<string, { readonly permissions: Record<string, string>; readonly steps: Step[]; readonly if?: string }>
	>;
}
const workflow = parse(await read(".github/workflows/publish.yml")) as Workflow;
const steps = Object.values(workflow.jobs).flatMap((job) => job.steps);
const commands = steps.flatMap((step) => step.run?.split("\n") ?? []);
const { version, scripts, repository } = JSON.parse(await read("package.json"));

describe("the workflow that publishes", () => {
	it("names each action by a commit, and no job may do more than it says", () => {
		const actions = steps.flatMap(({ uses }) => uses ?? []);
		expect(actions.length).toBeGreaterThan(8);
		for (const action of actions) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
		expect(workflow.permissions).toEqual({});
		for (const { permissions } of Object.values(workflow.jobs)) expect(permissions.contents).toBeDefined();
	});

	it("publishes package, server.json, bundle and image with provenance, and on a dry run publishes nothing", () => {
		const publishes = (pattern: RegExp) => commands.some((command) => pattern.test(command));
		expect(publishes(/^npm publish --provenance .*--dry-run/)).toBe(true);
		expect(publishes(/mcp-publisher publish$/)).toBe(true);
		expect(workflow.jobs.registry?.if).toBe("github.event_name == 'push'");
		const attested = steps.filter(({ uses }) => uses?.startsWith("actions/attest-build-provenance@"));
		const subjects = attested.map((step) => step.with?.["subject-path"] ?? step.with?.["subject-name"]).join(" ");
		expect(subjects).toMatch(/\.mcpb[\s\S]*palimpsest\.tar\.gz[\s\S]*ghcr\.io/);
		const image = steps.find(({ uses }) => uses?.startsWith("docker/build-push-action@"))?.with;
		expect(image).toMatchObject({
			file: "deploy/Dockerfile",
			provenance: "mode=max",
			sbom: true,
			push: expect.stringContaining("github.event_name == 'push'"),
		});
		for (const step of steps.filter(({ run: command = "" }) => /gh release/.test(command))) {
			expect(step.if).toBe("github.event_name == 'push'");
		}
	});

	it("runs scripts and files that there are", async () => {
		const named = commands.flatMap((command) => /^npm run ([\w:]+)/.exec(command)?.[1] ?? []);
		expect(named.filter((name) => !(name in scripts))).toEqual([]);
		const files = commands.flatMap((command) => /(?:node |^)((?:scripts|\.ci)\/[\w.-]+)/.exec(command)?.[1] ?? []);
		expect(files).toEqual(["scripts/check-release.js", ".ci/run"]);
		for (const file of files) expect(await read(file)).not.toBe("");
		expect(repository.url).toContain("palimpsest-mcp/palimpsest");
	});
});

describe("check-release.js", () => {
	const check = async (tag: string, folder = packageFolder) =>
		run(process.execPath, [join(packageFolder, "scripts/check-release.js"), tag, folder]).then(
			({ stdout }) => ({ code: 0, text: stdout }),
			({ code, stderr }: { code: number; stderr: string }) => ({ code, text: stderr }),
		);

	it("finds one version everywhere", async () => {
		expect(await check("")).toMatchObject({ code: 0, text: expect.stringContaining(`${version}: the same in `) });
	});

	it("names values that differ from package.json or from the tag", async () => {
		const folder = await scratchFolder();
		const names = ["package.json", "package-lock.json", "server.json", "CHANGELOG.md", "plugins", ".claude-plugin"];
		for (const name of names) await cp(join(packageFolder, name), join(folder, name), { recursive: true });
		const file = join(folder, "plugins/codex/.codex-plugin/plugin.json");
		await writeFile(file, (await readFile(file, "utf8")).replace(version, "0.0.9"));
		const { code, text } = await check("v9.9.9", folder);
		expect(code).toBe(1);
		expect(text).toContain(
			`plugins/codex/.codex-plugin/plugin.json: expected ${version}, as in package.json; got 0.0.9`,
		);
		expect(text).toContain(`the tag: expected ${version}, as in package.json; got 9.9.9`);
		expect(text).toContain(`CHANGELOG.md: expected a section "## ${version}"`);
	});
});

describe("the code that an installation runs", () => {
	it("is in dist, or in a package that package.json names in one version", async () => {
		const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(await read("package.json"));
		for (const exact of Object.values({ ...dependencies, ...optionalDependencies }))
			expect(exact).toMatch(/^\d+\.\d+\.\d+$/);
		const chunks = (await readdir(join(packageFolder, "dist"))).filter((name) => name.endsWith(".js"));
		const texts = await Promise.all(chunks.map((name) => read(`dist/${name}`)));
		const imported = texts.flatMap((text) =>
			Array.from(
				text.matchAll(/^import (?:[^"]* from )?"([^"]+)";|\bimport\("([^"]+)"\)/gm),
				([, one, other]) => one ?? other ?? "",
			),
		);
		const packages = new Set(
			imported
				.filter((name) => !/^(?:\.|node:)/.test(name))
				.map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/")),
		);
		expect(packages.size).toBeGreaterThan(8);
		for (const name of ["express", "express-rate-limit", "zod", "@modelcontextprotocol/sdk"])
			expect(packages).not.toContain(name);
		const named = { ...dependencies, ...optionalDependencies, ...peerDependencies };
		expect([...packages].filter((name) => !Object.hasOwn(named, name))).toEqual([]);
	});

	it("of images is named by digest", async () => {
		const images = [
			...Array.from((await read("deploy/Dockerfile")).matchAll(/^FROM (\S+)/gm), ([, image]) => image),
			...Array.from((await read("deploy/compose.yaml")).matchAll(/^\s+image: (\S+)/gm), ([, image]) => image),
		].filter((image) => image !== "palimpsest:local");
		expect(images).toHaveLength(4);
		for (const image of images) expect(image).toMatch(/^[\w.-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
	});
});
