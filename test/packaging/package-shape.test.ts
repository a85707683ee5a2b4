import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { beforeAll, describe, expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const run = promisify(execFile);
let tarball: string;

beforeAll(async () => {
	const folder = await scratchFolder();
	const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
		cwd: packageFolder,
	});
	const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
	tarball = join(folder, filename);
});

/** The packages that a declaration file names, and those that it imports; `seen` grows. */
async function packagesOf(file: string, seen: Set<string>): Promise<string[]> {
	if (seen.has(file)) return [];
	seen.add(file);
	const text = await readFile(file, "utf8");
	const targets = Array.from(text.matchAll(/(?:from|import\()\s*"([^"]+)"/g), ([, target = ""]) => target);
	const own = targets.filter((target) => target.startsWith("."));
	const inner = own.map((target) => packagesOf(resolve(dirname(file), target.replace(/\.[jt]s$/, ".d.ts")), seen));
	return [...targets.filter((target) => !target.startsWith(".")), ...(await Promise.all(inner)).flat()];
}

describe("the published package", () => {
	it("passes publint", async () => {
		const bytes = await readFile(tarball);
		const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
		const { messages, pkg } = await publint({ pack: { tarball: whole }, level: "suggestion", strict: true });
		expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
	});

	it("has types that resolve for every way to import an ES module", async () => {
		const attw = join(packageFolder, "node_modules/@arethetypeswrong/cli/dist/index.js");
		const { stdout } = await run(process.execPath, [attw, tarball, "--profile", "esm-only", "--format", "json"]);
		const { problems, analysis } = JSON.parse(stdout);
		expect(Object.keys(analysis.entrypoints)).toContain(".");
		const found = Object.values(problems ?? {}) as { kind: string; resolutionKind: string }[][];
		// What needs CommonJS, or a resolution that knows no exports, is what the profile leaves out.
		expect(found.flat().filter(({ resolutionKind }) => /^(?:node16-esm|bundler)$/.test(resolutionKind))).toEqual([]);
	});

	it("has types that compile without optional peers", async () => {
		const seen = new Set<string>();
		const named = await packagesOf(join(packageFolder, "dist/index.d.ts"), seen);
		const { dependencies } = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));
		expect(seen.size).toBeGreaterThan(20);
		expect(named).toContain("zod");
		expect(named.filter((name) => !Object.hasOwn(dependencies, name))).toEqual([]);
	});
});
