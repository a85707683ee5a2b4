import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { lostFilesReporter } from "./test/support/lost-files-reporter.ts";

/** Rooms whose tests neither change the process nor mind what was loaded before: they share what they import. */
const sharing = [
	"contract",
	"compaction",
	"conversation",
	"formats",
	"json-text",
	"pipeline",
	"policy",
	"properties",
	"real",
].map((room) => `test/${room}/**/*.test.ts`);
// What hangs is to end some time; how fast the rest is depends on the machine, and no test asks for it.
const common = {
	testTimeout: 600_000,
	hookTimeout: 600_000,
	setupFiles: [`${import.meta.dirname}/test/support/remove-scratch-folders.ts`],
};

export default defineConfig({
	test: {
		// One more than there are processors: much of the time a test waits for a process that it started.
		maxWorkers: availableParallelism() + 1,
		reporters: ["default", lostFilesReporter()],
		projects: [
			{ test: { ...common, name: "sharing", include: sharing, isolate: false } },
			{
				test: { ...common, name: "apart", include: ["test/**/*.test.ts"], exclude: [...sharing, "**/node_modules/**"] },
			},
		],
	},
});
