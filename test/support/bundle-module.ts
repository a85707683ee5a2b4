import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { packageFolder } from "./built-cli.ts";
import { scratchFolder } from "./scratch-folder.ts";

/** Bundles a module of `src` on its own, for a test that runs it in a process of plain Node.js. Answers with its URL. */
export async function bundleModule(source: string): Promise<string> {
	const file = join(await scratchFolder(), "module.js");
	const input = resolve(packageFolder, "src", source);
	await build({ input, platform: "node", external: /^(?!\.|\/|[A-Za-z]:)/, output: { file, format: "es" } });
	return pathToFileURL(file).href;
}
