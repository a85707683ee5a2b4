import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { benchFolder } from "./project-folder.ts";
import { progress } from "./section.ts";

const install = [
	"install",
	"--legacy-peer-deps",
	"--ignore-scripts",
	"--no-audit",
	"--no-fund",
	"--no-package-lock",
] as const;

/** Exact versions of the packages that are measured against, by name. */
export function peerVersions(): Record<string, string> {
	return JSON.parse(readFileSync(`${benchFolder}/package.json`, "utf8")).dependencies;
}

/** Installs them into the benchmarks' own folder where one is missing or of another version. */
export function installPeers(): void {
	const missing = Object.entries(peerVersions()).filter(([name, version]) => {
		const manifest = `${benchFolder}/node_modules/${name}/package.json`;
		return !existsSync(manifest) || JSON.parse(readFileSync(manifest, "utf8")).version !== version;
	});
	if (missing.length === 0) return;
	progress(`Installing into test/bench: ${missing.map(([name, version]) => `${name}@${version}`).join(", ")}`);
	const { status } = spawnSync("npm", install, {
		cwd: benchFolder,
		stdio: ["ignore", 2, 2],
		shell: process.platform === "win32",
	});
	if (status !== 0) throw new Error("The packages that are measured against could not be installed.");
}
