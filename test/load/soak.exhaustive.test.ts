import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

// The long one is `npm run soak`.
it("seconds of the soak get right answers from both servers, and leave nothing open", async () => {
	execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "test/load/tsconfig.json"], {
		cwd: packageFolder,
	});
	const given = ["--minutes", "0.05", "--clients", "8", "--wait", "0.3", "--output", await scratchFolder()];
	const { stdout } = spawnSync(
		process.execPath,
		[join(packageFolder, "build/load/test/load/run.js"), "soak", ...given],
		{
			encoding: "utf8",
		},
	);
	for (const face of ["serve", "proxy"]) {
		expect(stdout).toMatch(new RegExp(`^${face}: requests: \\d{2,}, of which 0 wrong: holds$`, "m"));
		// What only Linux tells is not judged elsewhere.
		for (const what of ["descriptors", "threads", "timers"]) {
			expect(stdout).toMatch(new RegExp(`^${face}: ${what} without clients: .*: (?:holds|not judged)$`, "m"));
		}
	}
});
