import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isWhole } from "../support/breadth.ts";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it("npm run new-format writes a format that the contract suite refuses until it is filled in", async () => {
	const copy = await scratchFolder();
	// The suite runs on the rows that are there: the new one alone.
	for (const path of ["src", "test/support", "test/formats", "package.json"]) {
		const isTaken = (file: string) => !/\/test\/formats\/(?:json-text|tokens|rows\/)/.test(file);
		cpSync(join(packageFolder, path), join(copy, path), { recursive: true, filter: isTaken });
	}
	for (const name of ["node_modules", "assets"]) symlinkSync(join(packageFolder, name), join(copy, name));
	const script = join(packageFolder, "scripts/new-format.js");
	const write = () => spawnSync(process.execPath, [script, "my-agent", copy], { encoding: "utf8" });
	expect(write()).toMatchObject({
		status: 0,
		stdout: expect.stringContaining("entered myAgent in src/formats/detect.ts"),
	});
	const list = readFileSync(join(copy, "src/formats/detect.ts"), "utf8");
	expect(list.match(/myAgent/g)).toHaveLength(2);
	if (isWhole) expectToCompile(copy);
	const vitest = join(packageFolder, "node_modules/vitest/vitest.mjs");
	const { status, stdout } = spawnSync(
		process.execPath,
		[vitest, "run", "--root", copy, "--reporter", "json", "-t", "my-agent", "test/formats/detect-formats.test.ts"],
		{ encoding: "utf8", env: { ...process.env, LC_ALL: "C" } },
	);
	const [{ assertionResults: all }] = JSON.parse(stdout.slice(stdout.indexOf("{"))).testResults as [
		{ assertionResults: readonly { readonly fullName: string; readonly status: string }[] },
	];
	const own = all.filter(({ fullName }) => fullName.startsWith("my-agent: "));
	const failed = own.filter((one) => one.status === "failed").map(({ fullName }) => fullName);
	expect(status).toBe(1);
	expect(own.length).toBeGreaterThan(40);
	expect(failed).toContain("my-agent: format detection is detected in its own conversations");
	expect(failed).toContain("my-agent: the fixture is read with its counters, masked, and restored to the byte");
	// Nothing that is there is written over.
	expect(write()).toMatchObject({ status: 1, stderr: expect.stringContaining("exists already") });
});

function expectToCompile(copy: string): void {
	const files = ["src/formats/detect.ts", "test/formats/rows/my-agent.ts"];
	const config = {
		extends: join(packageFolder, "tsconfig.json"),
		compilerOptions: { noEmit: true },
		include: [],
		files,
	};
	writeFileSync(join(copy, "tsconfig.json"), JSON.stringify(config));
	const compiled = spawnSync(process.execPath, [join(packageFolder, "node_modules/typescript/bin/tsc"), "-p", copy]);
	expect(String(compiled.stdout)).toBe("");
}
