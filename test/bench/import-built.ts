import { pathToFileURL } from "node:url";
import { projectFolder } from "./project-folder.ts";

/** The built module that belongs to a source file: `library.ts` is imported from `dist/library.js`. */
export async function importBuilt<Shape>(source: string): Promise<Shape> {
	return (await import(builtUrl(source))) as Shape;
}

/** Address of that module. */
export function builtUrl(source: string): string {
	return pathToFileURL(`${projectFolder}/dist/${source.replace(/\.ts$/, ".js")}`).href;
}
