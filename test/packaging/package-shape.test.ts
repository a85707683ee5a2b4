import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
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

describe("the package as it would be published", () => {
	it("has no fault that publint knows", async () => {
		const bytes = await readFile(tarball);
		const whole = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
		const { messages, pkg } = await publint({ pack: { tarball: whole }, level: "suggestion", strict: true });
		expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
	});

	it("has types that resolve in every way an ES module is imported", async () => {
		const attw = join(packageFolder, "node_modules/@arethetypeswrong/cli/dist/index.js");
		const { stdout } = await run(process.execPath, [attw, tarball, "--profile", "esm-only", "--format", "json"]);
		const { problems, analysis } = JSON.parse(stdout);
		expect(Object.keys(analysis.entrypoints)).toContain(".");
		const found = Object.values(problems ?? {}) as { kind: string; resolutionKind: string }[][];
		// What needs CommonJS, or a resolution that knows no exports, is what the profile leaves out.
		expect(found.flat().filter(({ resolutionKind }) => /^(?:node16-esm|bundler)$/.test(resolutionKind))).toEqual([]);
	});
});
