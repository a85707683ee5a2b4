import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the checkout; this file runs as `build/conformance/folders.js`. */
export const projectFolder = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** The folder of the tools and of what is expected. */
export const conformanceFolder = join(projectFolder, "test/conformance");

/** The built command. */
export const builtCli = join(projectFolder, "dist/cli.js");
