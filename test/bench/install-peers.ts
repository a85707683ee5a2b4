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

/** Where agents are whose truncation is measured: half a gigabyte that no other benchmark needs. */
export const agentsFolder = `${benchFolder}/agents`;

/** Exact versions of the packages that are measured against, by name. */
export function peerVersions(folder: string = benchFolder): Record<string, string> {
	return JSON.parse(readFileSync(`${folder}/package.json`, "utf8")).dependencies;
}

/** Installs them into a folder of the benchmarks, where one is missing or of another version. */
export function installPeers(folder: string = benchFolder): void {
	const missing = Object.entries(peerVersions(folder)).filter(([name, version]) => {
		const manifest = `${folder}/node_modules/${name}/package.json`;
		return !existsSync(manifest) || JSON.parse(readFileSync(manifest, "utf8")).version !== version;
	});
	if (missing.length === 0) return;
	progress(`Installing: ${missing.map(([name, version]) => `${name}@${version}`).join(", ")}`);
	const { status } = spawnSync("npm", install, {
		cwd: folder,
		stdio: ["ignore", 2, 2],
		shell: process.platform === "win32",
	});
	if (status !== 0) throw new Error("The packages that are measured against could not be installed.");
}
