// Makes `assets/`, which is packed: the parts that a page of palimpsest carries inside itself, so that it needs no network,
// copied from the packages that only the build needs or bundled from `src/pages/client`; and the tables of tokens.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "rolldown";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const copied = {
	"page.css": "src/pages/client/page.css",
	"live.css": "src/pages/client/live.css",
	"uplot.js": "node_modules/uplot/dist/uPlot.iife.min.js",
	"uplot.css": "node_modules/uplot/dist/uPlot.min.css",
	"uplot-license.txt": "node_modules/uplot/LICENSE",
};
const bundled = ["live.js", "replay.js", "report.js"];
/** The tables of gpt-tokenizer that the package brings, with their numbers of tokens. */
const tables = { o200k_base: 199_998, cl100k_base: 100_256 };

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
const tokenFile = await loadTokenFile();
for (const [name, size] of Object.entries(tables)) {
	const text = readFileSync(here(`../node_modules/gpt-tokenizer/data/${name}.tiktoken`), "latin1");
	writeFileSync(here(`../assets/${name}.tokens`), tokenFile(text, size));
}

/** Loads `src/formats/tokens/prepare-table.ts`, which Node.js 20 cannot load unchanged. */
async function loadTokenFile() {
	const file = here("../assets/prepare-table.js");
	await build({
		input: here("../src/formats/tokens/prepare-table.ts"),
		platform: "node",
		output: { file, format: "es" },
		logLevel: "warn",
	});
	try {
		return (await import(file)).tokenFile;
	} finally {
		rmSync(file);
	}
}
