import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, it } from "vitest";
import config from "../vitest.config.ts";

const root = resolve(import.meta.dirname, "..");
const hook = /^(?:before|after)(?:All|Each)\(/m;

/** Folders of the tests that share the modules they import. */
const sharing = (config.test?.projects ?? []).flatMap((project) =>
	typeof project === "object" && "test" in project && project.test?.isolate === false
		? (project.test.include ?? []).map((pattern) => pattern.slice(0, pattern.indexOf("*")))
		: [],
);

it("no module that tests share has a hook of its own, which only the first test file that imports it would get", () => {
	const tests = sharing.flatMap((folder) =>
		readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
			.filter((path) => path.endsWith(".test.ts"))
			.map((path) => join(folder, path)),
	);
	const shared = new Set(tests);
	for (const path of shared) {
		for (const [, target = ""] of readFileSync(join(root, path), "utf8").matchAll(/from "(\.[^"]+\.ts)"/g)) {
			const imported = relative(root, resolve(root, dirname(path), target));
			if (imported.startsWith("test")) shared.add(imported);
		}
	}
	const modules = [...shared].filter((path) => !path.endsWith(".test.ts"));
	expect(tests.length).toBeGreaterThan(400);
	expect(modules.length).toBeGreaterThan(100);
	expect(modules.filter((path) => hook.test(readFileSync(join(root, path), "utf8")))).toEqual([]);
});
