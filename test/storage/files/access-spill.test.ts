import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, it } from "vitest";
import { createSpill as createRealSpill } from "../../../src/storage/files/access.ts";
import { bundleModules } from "../../support/bundle-modules.ts";

const files: string[] = [];
// A test's process is ended in ways that leave no time to tidy up.
afterEach(() => Promise.all(files.splice(0).map((file) => rm(dirname(file), { recursive: true, force: true }))));

function createSpill() {
	const spill = createRealSpill();
	return async (name: string, text: string) => {
		const file = await spill(name, text);
		files.push(file);
		return file;
	};
}

it("puts each text into its own file, readable by this user only", async () => {
	const spill = createSpill();
	const [first, second] = [await spill("messages", "[1]"), await spill("messages", "[2]")];
	expect([await readFile(first, "utf8"), await readFile(second, "utf8")]).toEqual(["[1]", "[2]"]);
	expect((await stat(first)).mode & 0o777).toBe(0o600);
	expect((await stat(dirname(first))).mode & 0o777).toBe(0o700);
	expect(await readdir(dirname(first))).toHaveLength(2);
});

it("creates no folder before the first file", async () => {
	const [first, second] = [createSpill(), createSpill()];
	const [one, other] = [await first("a", ""), await second("a", "")];
	expect(dirname(one)).not.toBe(dirname(other));
	const both = createSpill();
	expect(new Set((await Promise.all([both("a", "1"), both("a", "2")])).map(dirname)).size).toBe(1);
});

it("leaves nothing when the process ends", async () => {
	const script = `
		const { createSpill } = await import(process.argv[1]);
		process.stdout.write(await createSpill()("messages", "[]"));`;
	const [built = ""] = await bundleModules(["storage/files/access.ts"]);
	const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, built]);
	expect(stdout).toMatch(/messages\.json$/);
	expect(existsSync(dirname(stdout))).toBe(false);
});
