import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { cleanEnvironment, scratchFolder } from "../../support/scratch-folder.ts";
import { shorten } from "./shorten.ts";

const binaries = resolve(import.meta.dirname, "../../../node_modules/.bin");
const maxTokens = 2_000;
let folder = "";
let countTokens = (text: string) => text.length;

/** Runs a tool that fails, and gives what it writes to both outputs. */
function failing(command: string, given: readonly string[], environment: Record<string, string> = {}): string {
	const env = { ...cleanEnvironment(folder), ...environment };
	const { stdout, stderr, status } = spawnSync(command, given, {
		cwd: folder,
		env,
		encoding: "utf8",
		maxBuffer: 2 ** 28,
	});
	expect(status, `${command} fails`).not.toBe(0);
	return stripVTControlCharacters(`${stdout}${stderr}`);
}

function isThere(command: string): boolean {
	const found = spawnSync(command, ["--version"]).error === undefined;
	if (!found) process.stderr.write(`Skipping what ${command} says when it fails: it is absent.\n`);
	return found;
}

/** Cuts an output to 2 000 tokens, and expects each line that tells of another failure to be in it. */
function expectKept(output: string, failures: readonly string[]): void {
	expect(countTokens(output), "the output has to be cut").toBeGreaterThan(maxTokens);
	const budget = { unit: "tokens", max: maxTokens, countTokens } as const;
	const cut = shorten(output, 0, { budget });
	expect(cut.strategy).toBe("log");
	expect(cut.tokens?.after).toBeLessThanOrEqual(maxTokens);
	const lines = output.split("\n");
	for (const failure of failures) {
		const line = lines.find((one) => one.includes(failure));
		expect(line, `the tool itself says ${failure}`).toBeDefined();
		expect(cut.text.split("\n"), failure).toContain(line);
	}
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index);

beforeAll(async () => {
	folder = await scratchFolder();
	countTokens = await loadCounter("o200k_base");
});

describe("outputs of tools that really fail", () => {
	it("node --test", async () => {
		const tests = range(120).map((index) =>
			index % 30 === 7
				? `test("case ${index}", () => { throw new RangeError("no room for ${index}"); });`
				: `test("case ${index}", () => {});`,
		);
		await writeFile(join(folder, "cases.test.mjs"), `import test from "node:test";\n${tests.join("\n")}\n`);
		const output = failing(process.execPath, ["--test", "--test-reporter=tap", "cases.test.mjs"]);
		expectKept(
			output,
			[7, 37, 67, 97].flatMap((index) => [`not ok ${index + 1} - case ${index}`, `no room for ${index}'`]),
		);
	});

	it("vitest", async () => {
		const inner = await scratchFolder();
		const tests = range(150).map((index) =>
			index % 50 === 20
				? `test("sum ${index}", () => { expect(${index}).toBe(-${index}); });`
				: `test("sum ${index}", () => {});`,
		);
		const source = `const { test, expect } = globalThis;\n${tests.join("\n")}\n`;
		await writeFile(join(inner, "sums.test.js"), source);
		const output = failing(join(binaries, "vitest"), ["run", "--globals", "--root", inner, "--reporter=verbose"], {
			CI: "1",
		});
		expectKept(
			output,
			[20, 70, 120].map((index) => `expected ${index} to be -${index}`),
		);
	});

	it("tsc", async () => {
		const wrong = range(60).map((index) => `export const value${index}: number = "text ${index}";`);
		await writeFile(join(folder, "wrong.ts"), `${wrong.join("\n")}\nexport const other: strin = missingName;\n`);
		const output = failing(join(binaries, "tsc"), ["--noEmit", "--pretty", "false", "--listFiles", "wrong.ts"]);
		expectKept(output, [
			...range(60).map((index) => `wrong.ts(${index + 1},14): error TS2322`),
			"name 'strin'",
			"name 'missingName'",
		]);
	});

	it("npm, and a script that crashes", async () => {
		await mkdir(join(folder, "app"), { recursive: true });
		// Since Node 22 a script that crashes may lose what it gave to console.log.
		const noise = `import fs from "node:fs"; for (let i = 0; i < 900; i += 1) fs.writeSync(1, 'module ' + i + ' in ' + (i % 9) + ' ms\\n');`;
		await writeFile(join(folder, "app", "run.mjs"), `${noise}\nconst config = undefined;\nconfig.port;\n`);
		await writeFile(
			join(folder, "app", "package.json"),
			JSON.stringify({ name: "app", scripts: { build: "node run.mjs" } }),
		);
		const output = failing("npm", ["run", "build", "--prefix", "app"]);
		expectKept(output, ["TypeError: Cannot read properties of undefined (reading 'port')", "run.mjs:3"]);
	});

	it.skipIf(!isThere("git"))("git", async () => {
		const git = (...given: string[]) =>
			spawnSync("git", given, { cwd: folder, env: cleanEnvironment(folder), encoding: "utf8" });
		git("init", "-q", "-b", "main");
		git("config", "user.email", "a@example.org");
		git("config", "user.name", "a");
		for (const name of range(200)) await writeFile(join(folder, `file-${name}.txt`), "one\n");
		git("add", ".");
		git("commit", "-qm", "one");
		git("checkout", "-qb", "side");
		await writeFile(join(folder, "file-3.txt"), "side\n");
		await writeFile(join(folder, "file-150.txt"), "side\n");
		git("commit", "-qam", "side");
		git("checkout", "-q", "main");
		for (const name of range(200)) await writeFile(join(folder, `file-${name}.txt`), "main\n");
		git("commit", "-qam", "main");
		const merge = git("merge", "side");
		const log = range(300).map((index) => `[${index}/300] checking out file-${index}.txt`);
		const output = [...log.slice(0, 250), merge.stdout + merge.stderr, ...log.slice(250)].join("\n");
		expectKept(output, [
			"CONFLICT (content): Merge conflict in file-3.txt",
			"CONFLICT (content): Merge conflict in file-150.txt",
		]);
	});

	it.skipIf(!isThere("make"))("make", async () => {
		const steps = range(200).map((index) => `s${index}:\n\t@echo "compiling unit-${index}.c with -O2 -Wall -Wextra"`);
		const rule = `all: ${range(200)
			.map((index) => `s${index}`)
			.join(" ")}\n\t@echo linking\n\t@no-such-linker -o app\n`;
		await writeFile(join(folder, "Makefile"), `${rule}${steps.join("\n")}\n`);
		expectKept(failing("make", ["all"]), ["no-such-linker: ", "make: *** [Makefile:"]);
	});

	it.skipIf(!isThere("python3"))("python3 -m unittest", async () => {
		const tests = range(120).map((index) =>
			index % 40 === 11
				? `    def test_case_${index}(self):\n        self.assertEqual(${index}, compute(${index}))`
				: `    def test_case_${index}(self):\n        pass`,
		);
		const source = `import unittest\ndef compute(n):\n    if n == 91: raise KeyError("no key %d" % n)\n    return n + 1\nclass Cases(unittest.TestCase):\n${tests.join("\n")}\n`;
		await writeFile(join(folder, "test_cases.py"), source);
		const output = failing("python3", ["-m", "unittest", "-v", "test_cases"]);
		expectKept(output, [
			"AssertionError: 11 != 12",
			"AssertionError: 51 != 52",
			"KeyError: 'no key 91'",
			"FAILED (failures=2, errors=1)",
		]);
	});
});
