// Makes `build/palimpsest-VERSION.mcpb`, the bundle that Claude Desktop installs by a double click: the built package,
// what it depends on, and deploy/bundle/manifest.json with the version and the tools filled in. `npm run build` comes first.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packExtension, validateManifest } from "@anthropic-ai/mcpb";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const staging = join(root, "build/bundle");
const taken = ["dist", "assets", "package.json", "package-lock.json", "LICENSE"];
/** Of the dependencies: what no server that runs ever reads. */
const unread = [/\.(?:map|md|markdown|flow)$/i, /\.d\.[cm]?ts$/, /^@napi-rs\//];

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
rmSync(staging, { recursive: true, force: true });
mkdirSync(staging, { recursive: true });
for (const name of taken) cpSync(join(root, name), join(staging, name), { recursive: true });
cpSync(join(root, "deploy/bundle/icon.png"), join(staging, "icon.png"));
execFileSync("npm", ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"], {
	cwd: staging,
	stdio: ["ignore", "ignore", "inherit"],
	shell: process.platform === "win32",
});
const modules = join(staging, "node_modules");
for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
	const path = join(entry.parentPath, entry.name);
	const within = path.slice(modules.length + 1).replaceAll("\\", "/");
	if (!entry.isDirectory() && unread.some((pattern) => pattern.test(within))) rmSync(path);
}

const manifest = JSON.parse(readFileSync(join(root, "deploy/bundle/manifest.json"), "utf8"));
const tools = await toolsOf([join(staging, "dist/cli.js")]);
writeFileSync(join(staging, "manifest.json"), JSON.stringify({ ...manifest, version, tools }, null, "\t"));
const outputPath = join(root, `build/palimpsest-${version}.mcpb`);
rmSync(outputPath, { force: true });
if (!validateManifest(join(staging, "manifest.json"))) process.exit(1);
if (!(await packExtension({ extensionPath: staging, outputPath, silent: true }))) process.exit(1);
process.stdout.write(`${outputPath}\n`);

/** Name and title of each tool, as the server in the bundle tells them. */
async function toolsOf(args) {
	const client = new Client({ name: "bundle", version: "1.0.0" });
	await client.connect(
		new StdioClientTransport({ command: process.execPath, args, env: { PALIMPSEST_ARCHIVE: "memory" } }),
	);
	const { tools } = await client.listTools();
	await client.close();
	return tools.map(({ name, title }) => ({ name, description: title }));
}
