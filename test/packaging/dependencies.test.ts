import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packageFolder } from "../support/built-cli.ts";

const read = (name: string) => readFileSync(join(packageFolder, name), "utf8");
const manifest = JSON.parse(read("package.json"));
const { packages } = JSON.parse(read("package-lock.json")) as { packages: Record<string, LockedPackage> };

interface LockedPackage {
	readonly dev?: boolean;
	readonly peer?: boolean;
	readonly devOptional?: boolean;
	readonly hasInstallScript?: boolean;
	readonly os?: readonly string[];
}

/** What `npm install palimpsest-mcp` installs; binaries of other platforms are none of it. */
const installed = Object.entries(packages).filter(
	([path, { dev, peer, devOptional, os }]) => path !== "" && !dev && !peer && !devOptional && os === undefined,
);

describe("the installed dependencies", () => {
	it("are fewer than 130 packages", () => {
		expect(installed.length).toBeGreaterThan(100);
		expect(installed.length).toBeLessThan(130);
	});

	it("run no script", () => {
		expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => path)).toEqual([]);
	});

	it("are explained, one line each", () => {
		const { dependencies, optionalDependencies, peerDependencies } = manifest;
		const named = Array.from(
			read("docs/architecture.md").matchAll(/^\| `([^`]+)` \|.*\| ([^|]+) \|$/gm),
			([, name]) => name,
		);
		expect(named.sort()).toEqual(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).sort());
	});
});
