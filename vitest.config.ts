import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Rooms whose tests neither change the process nor mind what was loaded before: they share what they import. */
const sharing = ["contract", "documents", "engine", "formats", "pipeline", "policy", "properties", "real"].map(
	(room) => `test/${room}/**/*.test.ts`,
);
const limits = { testTimeout: 30_000, hookTimeout: 60_000 };

export default defineConfig({
	test: {
		// One more than there are processors: much of the time a test waits for a process that it started.
		maxWorkers: availableParallelism() + 1,
		projects: [
			{ test: { ...limits, name: "sharing", include: sharing, isolate: false } },
			{
				test: { ...limits, name: "apart", include: ["test/**/*.test.ts"], exclude: [...sharing, "**/node_modules/**"] },
			},
		],
	},
});
