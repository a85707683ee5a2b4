import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { lostFilesReporter } from "./test/support/lost-files-reporter.ts";

/**
 * Tests that change the process they run in, put something in the place of a module, or depend on a fresh one. All others
 * share the modules they import with the files that ran before them in the same process: half the time of a short file. One
 * collects garbage, which takes long among the values of others.
 */
const alone = [
	...tests("hosts/plugins"),
	...files("formats/tokens", ["counter.test", "counter-load-on-first-use.test", "model*.test"]),
	...files("operations", ["config/compaction-summariser.test", "http/outgoing.test", "summariser/endpoint-*.test"]),
	...files("mcp", ["body.test", "tools-guard-context-report.test", "stdio-lines.test", "answer-result.test"]),
	...files("hosts", ["shorten-result-policy.test", "mod/register.test"]),
	...files("storage", ["archive/open-archive.test", "archive/files-power-loss.test", "files/access-*.test"]),
];

/** Tests of much the same as a property or a quicker test, with far more input: `npm run test:all` alone runs them. */
const exhaustive = ["test/**/*.exhaustive.test.ts"];

/** Tests that start many processes. */
const processes = [
	...tests("commands", "deploy", "docs", "e2e", "fuzz", "kills", "load", "packaging"),
	...["*", "pages/*", "storage/**/*", "formats/tokens/*"].map((name) => `test/${name}.long.test.ts`),
];

/** These, and those that work through real conversations or random texts. */
const long = [...processes, ...tests("properties", "real"), "test/**/*.long.test.ts"];

/** End-to-end tests of each transport that are quick enough to run every time. */
const quickEndToEnd = ["tools-list", "stdio", "transport-matrix"].map((name) => `test/e2e/${name}.test.ts`);

function tests(...rooms: readonly string[]): string[] {
	return rooms.map((room) => `test/${room}/**/*.test.ts`);
}

function files(folder: string, names: readonly string[]): string[] {
	return names.map((name) => `test/${folder}/${name}.ts`);
}

const none = ["**/node_modules/**"];
// No language of the reader: texts of the product are then those of the presets, on every machine.
const common = {
	setupFiles: [`${import.meta.dirname}/test/support/clean-up.ts`],
	env: { LC_ALL: "C" },
	// Tests make many values that do not last. With room for more of them the garbage collector takes less of the processor.
	execArgv: ["--max-semi-space-size=32"],
};
const quickly = { ...common, testTimeout: 30_000, hookTimeout: 60_000 };
// These tests wait for processes on a busy machine. A test that needs more says so.
const patiently = { ...common, testTimeout: 90_000, hookTimeout: 90_000 };

export default defineConfig({
	test: {
		// One more than there are processors: much of the time a long test waits for a process that it started. `npm test` has one less.
		maxWorkers: availableParallelism() + 1,
		reporters: ["default", lostFilesReporter()],
		// Each run after the first finds the sources as they were transformed.
		experimental: { fsModuleCache: true },
		globalSetup: "test/support/prepare-assets.ts",
		projects: [
			{
				test: {
					...quickly,
					name: "unit-shared",
					include: ["test/**/*.test.ts"],
					exclude: [...none, ...alone, ...long, ...exhaustive],
					isolate: false,
				},
			},
			{ test: { ...quickly, name: "unit", include: alone, exclude: [...none, ...long, ...exhaustive] } },
			{ test: { ...patiently, name: "unit-e2e", include: quickEndToEnd, exclude: none, isolate: false } },
			{
				test: {
					...patiently,
					name: "long-shared",
					include: long,
					exclude: [...none, ...processes, ...exhaustive],
					isolate: false,
				},
			},
			{ test: { ...patiently, name: "exhaustive", include: exhaustive, exclude: none } },
			{
				test: {
					...patiently,
					name: "long",
					include: processes,
					exclude: [...none, ...quickEndToEnd, ...exhaustive],
					isolate: false,
				},
			},
		],
	},
});
