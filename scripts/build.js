// Builds `dist`: the sources bundled into chunks that are loaded when a command, a tool or a transport first needs them, and
// the library's types beside them. Packages stay imports. Loading a few dozen chunks takes a third less time than
// loading several hundred modules.
import { execFileSync } from "node:child_process";
import { chmodSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));

rmSync(`${root}dist`, { recursive: true, force: true });
await build({
	cwd: root,
	// `job` is the module of the worker threads.
	input: { cli: "src/cli.ts", index: "src/index.ts", job: "src/mcp/pool/job.ts" },
	platform: "node",
	external: /^(?!\.|\/|[A-Za-z]:)/,
	// All chunks stand in `dist` itself, so that a path relative to a module at the top of `src` holds for each of them.
	output: { dir: `${root}dist`, format: "es", entryFileNames: "[name].js", chunkFileNames: "[name].js" },
	checks: { ineffectiveDynamicImport: false },
	logLevel: "warn",
});
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", `${root}tsconfig.build.json`], {
	stdio: "inherit",
});
chmodSync(`${root}dist/cli.js`, 0o755);
