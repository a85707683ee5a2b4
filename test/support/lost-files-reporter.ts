import type { Reporter } from "vitest/node";

/**
 * Names the files of tests that began and never ended: where the process that ran them has died, vitest says so, but not
 * in which file.
 */
export function lostFilesReporter(): Reporter {
	return {
		onTestRunEnd(modules) {
			for (const module of modules) {
				const tests = [...module.children.allTests()];
				const open = tests.filter((test) => test.result().state === "pending");
				if (open.length === 0 && !["pending", "queued"].includes(module.state())) continue;
				const names = open.map(({ fullName }) => `  ${fullName}\n`).join("");
				process.stderr.write(`Without an end: ${module.moduleId}, ${open.length} of ${tests.length} tests\n${names}`);
			}
		},
	};
}
