import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packageFolder } from "./support/built-cli.ts";

const { scripts } = JSON.parse(readFileSync(join(packageFolder, "package.json"), "utf8")) as {
	readonly scripts: Record<string, string>;
};

/** Scripts that do not end by themselves within minutes, or that are part of another one here, and why. */
const elsewhere: Readonly<Record<string, string>> = {
	format: "changes sources",
	"new-format": "changes sources",
	test: "this is one",
	"test:long": "this is one",
	"test:all": "this is one",
	"test:node": "installs another Node.js and runs the tests",
	prepare: "npm runs it",
	prepack: "the build",
	mutation: "runs the tests for each change",
	recording: "needs a browser and Claude Code",
	conformance: "installs Node.js 22",
	"conformance:built": "installs Node.js 22",
	soak: "the same as load",
};

/** The least that a script does, as its parameters. */
const parameters: Readonly<Record<string, readonly string[]>> = {
	bench: ["proxy"],
	lab: ["arms", "no-such-file.csv"],
	fuzz: ["--minutes", "0.05"],
	kills: ["--count", "5"],
	load: ["soak", "--minutes", "0.3", "--clients", "2"],
	hosts: ["--turns", "2", "no-such-program"],
};

const names = Object.keys(scripts).filter((name) => !(name in elsewhere));

function run(name: string): string {
	const { status, stdout, stderr } = spawnSync("npm", ["run", name, "--", ...(parameters[name] ?? [])], {
		cwd: packageFolder,
		encoding: "utf8",
		env: { ...process.env, PROXY_PARTS: "figures" },
	});
	// A stack of Node.js means that a script died, and did not refuse its parameters.
	const died = /node:internal|Error \[ERR_|Cannot find/.exec(`${stdout}${stderr}`)?.[0] ?? "";
	return `${name}: ${status === 0 ? "ends with 0" : "ends with another code"}${died && `, ${died}`}`;
}

it("each script runs after all others, in both orders", { timeout: 3_600_000 }, () => {
	const refusing = new Set(["lab", "hosts"]);
	const wanted = (name: string) => `${name}: ${refusing.has(name) ? "ends with another code" : "ends with 0"}`;
	expect(names.length).toBeGreaterThan(8);
	const reversed = names.toReversed();
	expect([...names, ...reversed].map(run)).toEqual([...names, ...reversed].map(wanted));
});
