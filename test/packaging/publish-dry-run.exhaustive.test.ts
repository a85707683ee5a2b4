import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";

const run = promisify(execFile);

it("the package would be accepted by npm, as a dry run shows", async () => {
	const { stdout, stderr } = await run("npm", ["publish", "--dry-run", "--ignore-scripts", "--json"], {
		cwd: packageFolder,
		env: { ...process.env, npm_config_registry: "http://127.0.0.1:9", npm_config_fetch_retries: "0" },
	}).catch((error: { stdout: string; stderr: string }) => error);
	const published = JSON.parse(stdout);
	const { name, files } = published["palimpsest-mcp"] ?? published;
	const paths = (files as { path: string }[]).map(({ path }) => path);
	expect([name, stderr.includes("EPRIVATE")]).toEqual(["palimpsest-mcp", false]);
	expect(paths).toEqual(
		expect.arrayContaining(["dist/cli.js", "dist/index.d.ts", "LICENSE", "README.md", "package.json"]),
	);
	expect(paths.filter((path) => /^(?:src|test|plugins|scripts)\//.test(path))).toEqual([]);
});
