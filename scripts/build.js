// Builds `dist`: the sources bundled into chunks that are loaded when a command, a tool or a transport first needs them, and
// the library's types next to them. Loading a few dozen chunks takes a third less time than loading several hundred
// modules. Packages that every command loads and the MCP SDK are bundled too: zod alone is some 90 modules, most of them locales. So
// is what brings packages in versions that package.json does not name, so that an install runs what was tested. Other packages
// stay imports.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const { dependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const sdks = ["@modelcontextprotocol/sdk", "@modelcontextprotocol/server"];
const loadedByAll = ["zod", "commander", "jsonc-parser", "smol-toml", "fastest-levenshtein", "image-dimensions"];
// Of gpt-tokenizer the bundle holds the names of models; its tables are prepared in `assets`.
const bundled = [
	...[...loadedByAll, ...sdks, "ajv", "ajv-formats", "express", "express-rate-limit"],
	...["@clack/prompts", "gpt-tokenizer", "yaml"],
];

rmSync(`${root}dist`, { recursive: true, force: true });
const typesWritten = writeTypes();
const { output } = await build({
	cwd: root,
	// `thread` and `large-text-thread` are the modules of worker threads; agent programs load the plugins.
	input: {
		cli: "src/cli.ts",
		index: "src/index.ts",
		thread: "src/mcp/pool/thread.ts",
		"large-text-thread": "src/operations/large-text-thread.ts",
		"plugin-opencode": "src/hosts/plugins/opencode.ts",
		"plugin-pi": "src/hosts/plugins/pi.ts",
		// Programs import these beside their framework.
		"ai-sdk": "src/hosts/adapters/ai-sdk.ts",
		langchain: "src/hosts/adapters/langchain.ts",
		"openai-agents": "src/hosts/adapters/openai-agents.ts",
		mastra: "src/hosts/adapters/mastra.ts",
		strands: "src/hosts/adapters/strands.ts",
		adk: "src/hosts/adapters/adk.ts",
	},
	platform: "node",
	// jsonc-parser names its ES modules there; its other build requires parts by names that no bundler sees.
	resolve: { mainFields: ["module", "main"] },
	external: isExternal,
	plugins: [{ name: "without-ajv", resolveId: resolveShims, load: loadShims }],
	// All chunks are in `dist` itself, so that a path relative to a module at the top of `src` holds for each of them.
	output: { dir: `${root}dist`, format: "es", entryFileNames: "[name].js", chunkFileNames: "[name].js" },
	checks: { ineffectiveDynamicImport: false },
	logLevel: "warn",
});
writeFileSync(`${root}dist/THIRD-PARTY-LICENSES.txt`, licenses(output.flatMap(({ moduleIds = [] }) => moduleIds)));
// These programs load the default export of a module.
writeFileSync(`${root}dist/opencode-plugin.js`, `export { opencodePlugin as default } from "./plugin-opencode.js";\n`);
writeFileSync(`${root}dist/pi-extension.js`, `export { piExtension as default } from "./plugin-pi.js";\n`);
await typesWritten;
writeFileSync(
	`${root}dist/opencode-plugin.d.ts`,
	`export { opencodePlugin as default } from "./hosts/plugins/opencode.js";\n`,
);
chmodSync(`${root}dist/cli.js`, 0o755);

/** The compiler runs at the same time as the bundler, since each takes one processor. `npm run typecheck` checks what it writes. */
async function writeTypes() {
	const compiler = `${root}node_modules/typescript/bin/tsc`;
	const child = spawn(process.execPath, [compiler, "-p", `${root}tsconfig.build.json`, "--noCheck"], {
		stdio: "inherit",
	});
	const [code] = await once(child, "close");
	if (code !== 0) throw new Error(`The types could not be written: tsc ended with code ${code}.`);
}

/** The package of the newer SDK loads Ajv when it starts, for answers to elicitation. Our servers never ask for any. */
function resolveShims(id) {
	return id === "@modelcontextprotocol/server/_shims" ? "\0shims" : null;
}

function loadShims(id) {
	if (id !== "\0shims") return null;
	return 'export { default as process } from "node:process"; export class DefaultJsonSchemaValidator {}';
}

/** A package that a bundled one needs is bundled, unless it is a dependency of ours anyway. */
function isExternal(id, importer) {
	if (/^(?:\.|\/|[A-Za-z]:)/.test(id)) return false;
	const name = id.split("/", id.startsWith("@") ? 2 : 1).join("/");
	if (bundled.includes(name)) return false;
	return id.startsWith("node:") || name in dependencies || !importer?.includes("/node_modules/");
}

/** The licence of each package of which a module is in the bundle. */
function licenses(moduleIds) {
	const folders = new Set(
		moduleIds.flatMap((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0] ?? []),
	);
	return [...folders]
		.sort()
		.map((folder) => {
			const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
			const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
			const text = file && existsSync(`${folder}/${file}`) ? readFileSync(`${folder}/${file}`, "utf8").trim() : license;
			return `${name} ${version} (${license})\n\n${text}\n`;
		})
		.join(`\n${"-".repeat(80)}\n\n`);
}
