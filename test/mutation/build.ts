import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { errorWording } from "./error-wording.ts";
import type { Mutant } from "./mutants.ts";

const toolFolder = resolve("test/mutation");
const modules = join(toolFolder, "node_modules");

interface Instrumenter {
	instrument(
		files: readonly { name: string; content: string; mutate: true }[],
		options: { ignorers: readonly unknown[]; excludedMutations: readonly string[]; plugins: null },
	): Promise<{ mutants: readonly Mutant[]; files: readonly { name: string; content: string }[] }>;
}

export interface Instrumented {
	readonly mutants: readonly Mutant[];
	/** The text of each file with all its mutants in it. */
	readonly texts: ReadonlyMap<string, string>;
}

/** Puts all mutants into the sources, each behind a question whether it is the active one. */
export async function instrument(sources: readonly string[]): Promise<Instrumented> {
	install();
	const file = pathToFileURL(join(modules, "@stryker-mutator/instrumenter/dist/src/instrumenter.js")).href;
	const quiet = { debug() {}, info() {}, isDebugEnabled: () => false };
	const instrumenter: Instrumenter = new (await import(file)).Instrumenter(quiet);
	const { mutants, files } = await instrumenter.instrument(
		sources.map((name) => ({ name: resolve(name), content: readFileSync(name, "utf8"), mutate: true })),
		{ ignorers: [errorWording], excludedMutations: [], plugins: null },
	);
	return {
		mutants: mutants.filter(({ status }) => status === undefined),
		texts: new Map(files.map(({ name, content }) => [name, content])),
	};
}

/** Into its own folder, so that the install of the project stays clean of it. */
function install(): void {
	const wanted: Record<string, string> = JSON.parse(
		readFileSync(join(toolFolder, "package.json"), "utf8"),
	).dependencies;
	const has = ([name, version]: [string, string]) => {
		const manifest = join(modules, name, "package.json");
		return existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version === version;
	};
	if (Object.entries(wanted).every(has)) return;
	process.stdout.write("Installing Stryker's instrumenter into test/mutation\n");
	const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
	const { status } = spawnSync("npm", ["install", ...flags, "--prefer-offline", "--loglevel=error"], {
		cwd: toolFolder,
		stdio: ["ignore", 2, 2],
		shell: process.platform === "win32",
	});
	if (status !== 0) throw new Error("Stryker's instrumenter could not be installed.");
}

/**
 * Builds the modules as JavaScript, each into a file of its own that says it is the original. Of the mutants only the drawn
 * ones stay. The file that it names tells where each module was built.
 */
export async function buildModules(
	input: readonly string[],
	{ texts, drawn, folder }: { texts: Instrumented["texts"]; drawn: ReadonlySet<string>; folder: string },
): Promise<string> {
	const { output } = await build({
		input: [...input],
		platform: "node",
		external: /^(?!\.|\/|[A-Za-z]:[\\/])/,
		plugins: [
			{
				name: "mutants",
				load: (file) => texts.get(file) ?? null,
				transform: (code, file) => asBuilt(code, { file, drawn }),
			},
		],
		output: { dir: join(folder, "modules"), format: "es", preserveModules: true, preserveModulesRoot: process.cwd() },
		checks: { ineffectiveDynamicImport: false },
		logLevel: "warn",
	});
	const built = output.flatMap((chunk) =>
		chunk.type === "chunk" && chunk.facadeModuleId
			? [[chunk.facadeModuleId, join(folder, "modules", chunk.fileName)]]
			: [],
	);
	const file = join(folder, "built-files.json");
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, JSON.stringify(Object.fromEntries(built)));
	return file;
}

const switchFile = pathToFileURL(join(import.meta.dirname, "switch.js")).href;

/** The text of an instrumented module: of the mutants only the drawn ones stay. It says that it is the original file. */
export function asBuilt(code: string, { file, drawn }: { file: string; drawn: ReadonlySet<string> }): string {
	const text = code
		.replace(/\bstryMutAct_9fa48\("(\d+)"\)/g, (_, id) => (drawn.has(id) ? `isActiveMutant(${id})` : "false"))
		.replace(/\bstryCov_9fa48\(((?:"\d+"(?:, )?)+)\)/g, (_, ids: string) => {
			const kept = ids.replaceAll('"', "").split(", ");
			return `coverMutants(${kept.filter((id) => drawn.has(id)).join(", ")})`;
		})
		.replaceAll("coverMutants()", "0")
		// A computed path names a TypeScript file, which Node.js 20 cannot load.
		.replace(/\bimport\((?=\w)/g, "importBuilt(")
		.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(file).href))
		.replaceAll("import.meta.dirname", JSON.stringify(dirname(file)));
	const used = ["isActiveMutant", "coverMutants", "importBuilt"].filter((name) => text.includes(`${name}(`));
	return used.length === 0 ? text : `import { ${used.join(", ")} } from ${JSON.stringify(switchFile)};\n${text}`;
}
