import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { hasRedis } from "../storage/archive/start-redis.ts";
import { packageFolder } from "../support/built-cli.ts";

/** With fewer, it may be that every writer dies before it has promised anything. */
const count = 10;

it("writers killed at random moments lose nothing that they have promised", () => {
	const places = hasRedis ? [] : ["--place", "files", "--place", "memory", "--place", "figures"];
	const { stdout, status } = spawnSync("npm", ["run", "kills", "--", "--count", String(count), ...places], {
		cwd: packageFolder,
		encoding: "utf8",
		shell: process.platform === "win32",
	});
	const lines = stdout.match(
		new RegExp(`^(?:files|redis|memory|figures): ${count} kills, .* texts promised, 0 lost,.*$`, "gm"),
	);
	expect(lines, stdout).toHaveLength(hasRedis ? 4 : 3);
	expect(status, stdout).toBe(0);
}, 240_000);
