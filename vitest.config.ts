import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { lostFilesReporter } from "./test/support/lost-files-reporter.ts";

/** Folders whose tests neither change the process nor depend on a fresh module: they share the modules they import. */
const sharingFolders = [
	...["contract/**", "engine/**", "formats", "formats/json-text/**", "lab/**", "mcp/gateway/**", "operations"],
	...["proxy/**", "storage/figures/**", "storage/restore/**", "support/**"],
];
const sharing = sharingFolders.map((folder) => `test/${folder}/*.test.ts`);
const sharingLong = [
	...tests("properties", "real"),
	...sharingFolders.map((folder) => `test/${folder}/*.long.test.ts`),
];

/** Tests of much the same as a property or a quicker test, with far more input: `npm run test:all` alone runs them. */
const exhaustive = ["test/**/*.exhaustive.test.ts"];

/** Tests that start many processes, or work through real conversations, random texts or containers. */
const long = [
	"test/**/*.long.test.ts",
	...tests("commands", "deploy", "docs", "e2e", "fuzz", "kills", "load", "packaging"),
	...sharingLong,
];

/** End-to-end tests of each transport that are quick enough to run every time. */
const quickEndToEnd = ["tools-list", "stdio", "transport-matrix"].map((name) => `test/e2e/${name}.test.ts`);

function tests(...rooms: readonly string[]): string[] {
	return rooms.map((room) => `test/${room}/**/*.test.ts`);
}

const none = ["**/node_modules/**"];
// No language of the reader: texts of the product are then those of the presets, on every machine.
const common = {
	setupFiles: [`${import.meta.dirname}/test/support/remove-scratch-folders.ts`],
	env: { LC_ALL: "C" },
};
const quickly = { ...common, testTimeout: 30_000, hookTimeout: 60_000 };
// These tests wait for processes on a busy machine. A test that needs more says so.
const patiently = { ...common, testTimeout: 90_000, hookTimeout: 90_000 };

export default defineConfig({
	test: {
		// One more than there are processors: much of the time a test waits for a process that it started.
		maxWorkers: availableParallelism() + 1,
		reporters: ["default", lostFilesReporter()],
		globalSetup: "test/support/prepare-assets.ts",
		projects: [
			{
				test: {
					...quickly,
					name: "unit-shared",
					include: sharing,
					exclude: [...none, ...long, ...exhaustive],
					isolate: false,
				},
			},
			{
				test: {
					...quickly,
					name: "unit",
					include: ["test/**/*.test.ts"],
					exclude: [...none, ...sharing, ...long, ...exhaustive],
				},
			},
			{ test: { ...patiently, name: "unit-e2e", include: quickEndToEnd, exclude: none } },
			{ test: { ...patiently, name: "long-shared", include: sharingLong, exclude: exhaustive, isolate: false } },
			{ test: { ...patiently, name: "exhaustive", include: exhaustive, exclude: none } },
			{
				test: {
					...patiently,
					name: "long",
					include: long,
					exclude: [...none, ...quickEndToEnd, ...sharingLong, ...exhaustive],
				},
			},
		],
	},
});
