import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageFolder } from "../../support/built-cli.ts";

const require = createRequire(join(packageFolder, "examples/package.json"));

/** Whether the frameworks, which the examples alone depend on, are installed. Says so if not, and fails in CI. */
export function hasFrameworks(): boolean {
	const isInstalled = existsSync(join(packageFolder, "examples/node_modules/langchain"));
	if (!isInstalled && process.env.CI) throw new Error("The frameworks are absent: npm ci --prefix examples");
	if (!isInstalled) process.stderr.write("Skipped: a framework. Run `npm ci --prefix examples` first.\n");
	return isInstalled;
}

/** A module of the examples' own dependencies. */
export async function importOfExamples<Module>(name: string): Promise<Module> {
	return (await import(pathToFileURL(require.resolve(name)).href)) as Module;
}
