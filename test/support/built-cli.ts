import { existsSync } from "node:fs";
import { resolve } from "node:path";

/** The folder of the checkout. */
export const packageFolder = resolve(import.meta.dirname, "../..");

/** The built command. Tests of the product as its users run it need the build first; `npm test` makes it. */
export const builtCli = resolve(packageFolder, "dist/cli.js");

if (!existsSync(builtCli)) throw new Error(`${builtCli} is absent. Run \`npm run build\` first, or \`npm test\`.`);
