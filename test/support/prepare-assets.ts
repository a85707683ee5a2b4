import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** Counting reads the tables of tokens in `assets/`, also in a fresh clone without a build. */
export function setup(): void {
	if (existsSync(resolve(root, "assets/o200k_base.tokens"))) return;
	execFileSync(process.execPath, [resolve(root, "scripts/copy-assets.js")], { stdio: "inherit" });
}
