import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A room of the source, with the tests that its mutants run. */
export interface Room {
	readonly name: string;
	/** In other folders, as the beginnings of file names. */
	readonly elsewhere?: readonly string[];
	/**
	 * Tests of the room that take seconds for each mutant, run the built package, put something in the place of a package, or need
	 * a process of their own: to measure the stack, to watch the files read.
	 */
	readonly without?: readonly string[];
}

export const rooms: readonly Room[] = [
	{
		name: "engine/conversation",
		elsewhere: ["contract/observation-masking-", "engine/compaction/rewrite-edits-verified"],
	},
	{
		name: "engine/masking",
		elsewhere: ["contract/observation-masking-", "contract/preset-tool-result-hiding", "properties/replay"],
	},
	{
		name: "engine/guarding",
		elsewhere: [
			"contract/context-window-guard-",
			"contract/preset-context-",
			"operations/guard.",
			"properties/lasting-guard",
		],
	},
	{
		name: "engine/truncation",
		elsewhere: ["contract/context-window-guard-truncation", "contract/robustness-large", "properties/truncate."],
	},
	{
		name: "engine/compaction",
		elsewhere: ["contract/compaction-strategies-built-in", "operations/compact"],
	},
	{ name: "engine/replaying" },
	{ name: "formats/json-text", without: ["value-deep"] },
	{
		name: "formats/tokens",
		without: ["counter-known-differences", "counter-load-on-first-use", "models-catalogue", "request-example-whole"],
	},
	{
		name: "operations",
		elsewhere: ["contract/observation-masking-", "contract/compaction-strategies-", "contract/robustness-guard"],
		without: [
			"context-window-calibrate-properties",
			"conversation-pure-calls",
			"count-estimated-properties",
			"originals-same-ref",
			"report-properties",
			"text-libraries",
			"truncate-strategies-page",
		],
	},
];

/** The TypeScript files of a room, from the folder of the checkout. */
export function sourcesOf({ name }: Room): string[] {
	return typescriptIn(`src/${name}`);
}

/** The tests that the mutants of a room run. */
export function testsOf({ name, elsewhere = [], without = [] }: Room): string[] {
	const own = typescriptIn(`test/${name}`).filter((file) => !without.some((one) => file.includes(`/${one}.test.`)));
	const others = elsewhere.flatMap((beginning) =>
		typescriptIn(`test/${beginning.split("/")[0]}`).filter((file) => file.startsWith(`test/${beginning}`)),
	);
	return [...own, ...others].filter((file) => /(?<!\.(?:long|exhaustive))\.test\.ts$/.test(file));
}

/** The file and what it imports of ours. */
export function modulesOf(file: string): ReadonlySet<string> {
	const modules = new Set([file]);
	for (const one of modules) {
		const text = readFileSync(one, "utf8");
		for (const [, imported = ""] of text.matchAll(/(?:(?<!(?:im|ex)port type .*)from |\bimport\()"(\.[^"]+\.ts)"/g)) {
			modules.add(join(dirname(one), imported));
		}
		if (/\bimport\(\w/.test(text)) for (const row of importedByPath()) modules.add(row);
	}
	return modules;
}

/** Modules that tests find by the list of the files in their folder. */
export function importedByPath(): string[] {
	return typescriptIn("test/formats/rows");
}

function typescriptIn(folder: string): string[] {
	return readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((file) => file.endsWith(".ts"))
		.map((file) => join(folder, file))
		.sort();
}
