import { rmSync } from "node:fs";
import { mkdir, mkdtemp } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { packageFolder } from "./built-cli.ts";
import { scratchFolders } from "./scratch-folder.ts";

/**
 * Bundles modules of `src` for a test that runs them as plain JavaScript: in a process of its own, or with worker
 * threads. They share what they have in common, as in `dist`. Answers with the URL of each. They are gone after the tests of
 * the file, or when the process of the tests ends.
 */
export async function bundleModules(sources: readonly string[], lasts: "file" | "process" = "file"): Promise<string[]> {
	// Within the checkout, so that its packages are found.
	await mkdir(join(packageFolder, "build"), { recursive: true });
	const folder = await mkdtemp(join(packageFolder, "build/test-"));
	if (lasts === "file") scratchFolders.push(folder);
	else process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const names = sources.map((source) => basename(source, ".ts"));
	await build({
		input: Object.fromEntries(sources.map((source, index) => [names[index], resolve(packageFolder, "src", source)])),
		platform: "node",
		external: /^(?!\.|\/|[A-Za-z]:)/,
		plugins: [{ name: "package-folder", transform: placePackage }],
		output: { dir: folder, format: "es", entryFileNames: "[name].js", chunkFileNames: "[name].js" },
		checks: { ineffectiveDynamicImport: false },
	});
	return names.map((name) => pathToFileURL(join(folder, `${name}.js`)).href);
}

/** Has the module that finds the package's own files look where it does in `dist`. */
function placePackage(code: string, id: string): string | undefined {
	if (!/src[\\/]version\.ts$/.test(id)) return undefined;
	return code.replace("import.meta.url", JSON.stringify(pathToFileURL(join(packageFolder, "dist/version.js")).href));
}
