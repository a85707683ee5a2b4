// What a page that palimpsest writes carries inside itself, so that it needs no network: copied from the packages that
// only the build needs, into `assets/`, which is packed.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const copied = {
	"uplot.js": "uplot/dist/uPlot.iife.min.js",
	"uplot.css": "uplot/dist/uPlot.min.css",
	"uplot-license.txt": "uplot/LICENSE",
};

rmSync(here("../assets"), { recursive: true, force: true });
mkdirSync(here("../assets"));
for (const [name, from] of Object.entries(copied))
	copyFileSync(here(`../node_modules/${from}`), here(`../assets/${name}`));
