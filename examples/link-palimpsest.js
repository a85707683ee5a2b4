// Makes `palimpsest-mcp` this very checkout. Run by `npm ci`: as a dependency, npm would want to lock all of its own.
import { rmSync, symlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const links = {
	"node_modules/palimpsest-mcp": "..",
	"node_modules/.bin/palimpsest": "../dist/cli.js",
};
for (const [link, target] of Object.entries(links)) {
	rmSync(here(link), { recursive: true, force: true });
	symlinkSync(here(target), here(link), link.includes(".bin") ? "file" : "junction");
}
