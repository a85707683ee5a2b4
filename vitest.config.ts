import { defineConfig } from "vitest/config";

/** Rooms whose tests neither change the process nor mind what was loaded before: they share what they import. */
const sharing = ["contract", "documents", "engine", "formats", "pipeline", "policy", "properties", "real"].map(
	(room) => `test/${room}/**/*.test.ts`,
);
const limits = { testTimeout: 30_000, hookTimeout: 60_000 };

export default defineConfig({
	test: {
		// By default one is left idle, which on two processors is half of them.
		maxWorkers: "100%",
		projects: [
			{ test: { ...limits, name: "sharing", include: sharing, isolate: false } },
			{
				test: { ...limits, name: "apart", include: ["test/**/*.test.ts"], exclude: [...sharing, "**/node_modules/**"] },
			},
		],
	},
});
