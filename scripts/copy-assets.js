// What a page that palimpsest writes carries inside itself, so that it needs no network: copied from the packages that
// only the build needs, and bundled from `src/pages/client`, into `assets/`, which is packed.
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const copied = {
	"page.css": "src/pages/client/page.css",
	"uplot.js": "node_modules/uplot/dist/uPlot.iife.min.js",
	"uplot.css": "node_modules/uplot/dist/uPlot.min.css",
	"uplot-license.txt": "node_modules/uplot/LICENSE",
};
const bundled = ["replay.js", "report.js"];

rmSync(here("../assets"), { recursive: true, force: true });
mkdirSync(here("../assets"));
for (const [name, from] of Object.entries(copied)) copyFileSync(here(`../${from}`), here(`../assets/${name}`));
await Promise.all(
	bundled.map((name) =>
		build({
			input: here(`../src/pages/client/${name}`),
			external: ["uplot"],
			output: { file: here(`../assets/${name}`), format: "iife", globals: { uplot: "uPlot" }, comments: false },
			logLevel: "warn",
		}),
	),
);
