import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { lostFilesReporter } from "./test/support/lost-files-reporter.ts";

/** Rooms whose tests neither change the process nor mind what was loaded before: they share what they import. */
const rooms = ["contract", "documents", "engine", "formats", "pipeline", "policy", "properties", "real"];
/** So do those that start the built package and look at it from outside. */
const fromOutside = ["commands", "deploy", "docs", "e2e", "hosts", "packaging", "pages"];
const sharing = [...rooms, ...fromOutside].map((room) => `test/${room}/**/*.test.ts`);
// What hangs is to end some time; how fast the rest is depends on the machine, and no test asks for it.
const limits = { testTimeout: 240_000, hookTimeout: 120_000 };

export default defineConfig({
	test: {
		// One more than there are processors: much of the time a test waits for a process that it started.
		maxWorkers: availableParallelism() + 1,
		reporters: ["default", lostFilesReporter()],
		projects: [
			{ test: { ...limits, name: "sharing", include: sharing, isolate: false } },
			{
				test: { ...limits, name: "apart", include: ["test/**/*.test.ts"], exclude: [...sharing, "**/node_modules/**"] },
			},
		],
	},
});
