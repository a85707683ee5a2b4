import { copyFileSync, cpSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { benchFolder, projectFolder } from "./project-folder.ts";

/** Entry points of the package; what users run is measured as the bundle that they get. */
const entries: ReadonlySet<string> = new Set(["cli.ts", "index.ts"]);

/** Imports a source file: an entry point from `dist`, any other module as compiled beside the benchmarks. */
export async function importBuilt<Shape>(source: string): Promise<Shape> {
	if (!entries.has(source)) {
		copyFileSync(`${projectFolder}/package.json`, `${benchFolder}/build/package.json`);
		cpSync(`${projectFolder}/assets`, `${benchFolder}/build/assets`, { recursive: true });
	}
	return (await import(builtUrl(source))) as Shape;
}

/** Address of that module. */
export function builtUrl(source: string): string {
	const folder = entries.has(source) ? `${projectFolder}/dist` : `${benchFolder}/build/src`;
	return pathToFileURL(`${folder}/${source.replace(/\.ts$/, ".js")}`).href;
}
