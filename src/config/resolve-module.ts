import { existsSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { packageTarget } from "./package-target.ts";

/**
 * The URL of a module that a configuration names, as the code of a file in `folder` would import it: a path, a `file:`
 * URL, or a package, which may have an entry for `import` alone. `undefined` where there is no such file.
 */
export function resolveModule(module: string, folder: string): URL | undefined {
	if (module.startsWith("file:")) return URL.canParse(module) ? existing(new URL(module)) : undefined;
	if (/^\.{0,2}[\\/]/.test(module) || isAbsolute(module)) return existing(pathToFileURL(resolve(folder, module)));
	const require = createRequire(join(folder, "from-here"));
	try {
		const found = require.resolve(module);
		// A module of Node's own is none of a package.
		return isAbsolute(found) ? pathToFileURL(found) : undefined;
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== "ERR_PACKAGE_PATH_NOT_EXPORTED") return undefined;
		return importOnly(module, require.resolve.paths(module) ?? []);
	}
}

/** Node tells where `import` leads only from its own module, so what `require` does not see is looked up by hand. */
function importOnly(module: string, folders: readonly string[]): URL | undefined {
	const [name = ""] = /^(?:@[^/]+\/)?[^/]+/.exec(module) ?? [];
	const found = folders.map((one) => join(one, name)).find((one) => existsSync(join(one, "package.json")));
	if (found === undefined) return undefined;
	const { exports } = JSON.parse(readFileSync(join(found, "package.json"), "utf8")) as { exports?: unknown };
	const target = packageTarget(exports, `.${module.slice(name.length)}`);
	return target === undefined ? undefined : existing(pathToFileURL(join(found, target)));
}

function existing(url: URL): URL | undefined {
	try {
		return url.protocol === "file:" && statSync(url).isFile() ? url : undefined;
	} catch {
		return undefined;
	}
}
