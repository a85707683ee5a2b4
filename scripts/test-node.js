// Runs the quick tests under another version of Node.js, from the npm package `node`, which is installed once into
// build/node-VERSION: `node scripts/test-node.js 24 [what vitest shall run]`. `npm run build` comes first.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const isWindows = process.platform === "win32";
const [version = "", ...chosen] = process.argv.slice(2);
if (!/^\d+(?:\.\d+){0,2}$/.test(version)) fail(`Expected a version of Node.js such as 24; got "${version}".`);

const folder = join(root, "build", `node-${version}`);
const bin = join(folder, "node_modules/node/bin");
const node = join(bin, isWindows ? "node.exe" : "node");
if (!existsSync(node)) install();
process.stdout.write(`Node.js ${execFileSync(node, ["--version"], { encoding: "utf8" }).trim()}\n`);
const tests = chosen.length > 0 ? chosen : ["--project", "unit*"];
const { status } = spawnSync(node, [join(root, "node_modules/vitest/vitest.mjs"), "run", ...tests], {
	cwd: root,
	stdio: "inherit",
	// Tests that start `node` by its name start this one.
	env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
});
process.exitCode = status ?? 1;

function install() {
	mkdirSync(folder, { recursive: true });
	// The package gets the program of this system with a script.
	const how = ["--ignore-scripts=false", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"];
	const { status: failed } = spawnSync("npm", ["install", "--prefix", folder, ...how, `node@${version}`], {
		stdio: "inherit",
		shell: isWindows,
	});
	if (failed !== 0 || !existsSync(node)) {
		fail(
			`Node.js ${version} was not installed into ${folder}: \`npm install node@${version}\` failed. Check that the registry can be reached and that the package \`node\` has this version for ${process.platform} ${process.arch}.`,
		);
	}
}

function fail(message) {
	process.stderr.write(`${message}\n`);
	process.exit(1);
}
