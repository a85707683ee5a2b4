import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import type { CompactionContext, StrategyDependencies } from "../../../src/engine/compaction/strategy.ts";
import { PalimpsestError } from "../../../src/errors.ts";
import { checkStrategy, constructStrategy } from "../../../src/operations/config/external-strategy.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const dependencies: StrategyDependencies = {
	llm: undefined,
	countTokens: (text) => text.length,
	locale: "fr",
	log: () => undefined,
};
const context: CompactionContext = {
	history: [{ role: "user", content: "go" }],
	format: "openai-chat",
	token_count: 1,
	max_context_size: 2,
	reserved_context_size: 1,
	llm: undefined,
	signal: undefined,
};

/** A class that answers with what it was given, so that a test sees that it is the one. */
const classOf = (name: string) =>
	`class ${name} { constructor(given) { this.given = given; } compact() { return [{ from: "${name}", locale: this.given.locale }]; } }`;

const files: Readonly<Record<string, string>> = {
	"strategy.mjs": `export ${classOf("Short")}\nexport default ${classOf("Main")}\nexport const object = { compact: () => null };\nexport const nothing = 1;\nexport class Empty {}\nexport class Field { compact = () => null }\nexport class Child extends Short {}\nexport const plain = () => null;\nexport class Failing { constructor() { throw new TypeError("no luck\\nsecond line"); } compact() {} }\nexport class Other { constructor() { return { compact: 1 }; } compact() {} }\nexport const list = [];\nexport const none = null;`,
	"strategy.cjs": `exports.Short = ${classOf("ShortCommon")};`,
	"whole.cjs": `module.exports = ${classOf("Whole")};`,
	"hidden.cjs": `const all = {}; all["Hid" + "den"] = ${classOf("Hidden")}; module.exports = Object.assign({}, all);`,
	"failing.mjs": 'throw new RangeError("cannot start");',
	"broken.mjs": "export class {",
	"needs.mjs": 'import "not-installed-anywhere"; export class A { compact() {} }',
	"sub/policy.toml": "",
	"node_modules/esm-only/package.json": '{"name": "esm-only", "type": "module", "exports": {"import": "./main.js"}}',
	"node_modules/esm-only/main.js": `export ${classOf("EsmOnly")}`,
	"node_modules/common/package.json": '{"name": "common", "main": "index.js"}',
	"node_modules/common/more/one.js": `exports.One = ${classOf("One")};`,
	"node_modules/strict/package.json": '{"name": "strict", "type": "module", "exports": "./main.js"}',
	"node_modules/strict/main.js": `export ${classOf("Strict")}`,
	"node_modules/common/index.js": `exports.Common = ${classOf("Common")};`,
	"node_modules/@scope/dual/package.json":
		'{"name": "@scope/dual", "exports": {"import": "./main.mjs", "require": "./main.cjs"}}',
	"node_modules/@scope/dual/main.mjs": `export ${classOf("Dual")}`,
	"node_modules/@scope/dual/main.cjs": `exports.Dual = ${classOf("Dual")};`,
};

let folder = "";

beforeAll(async () => {
	folder = await scratchFolder();
	for (const [name, text] of Object.entries(files)) {
		await mkdir(dirname(join(folder, name)), { recursive: true });
		await writeFile(join(folder, name), text);
	}
});

const refusalOf = async (name: string): Promise<PalimpsestError> => {
	const error: unknown = await checkStrategy(name, folder).catch((caught: unknown) => caught);
	if (!(error instanceof PalimpsestError)) throw new Error(`expected a PalimpsestError for ${name}`, { cause: error });
	expect(error.code).toBe("invalid_policy");
	expect(error.message).toContain(name.slice(0, 40));
	return error;
};

describe("an external strategy", () => {
	it.each([
		["./strategy.mjs#Short", "Short"],
		["./strategy.mjs#default", "Main"],
		["./strategy.mjs#Child", "Short"],
		["./strategy.cjs#Short", "ShortCommon"],
		["./whole.cjs#default", "Whole"],
		["./hidden.cjs#Hidden", "Hidden"],
		["./node_modules/esm-only/main.js#EsmOnly", "EsmOnly"],
		["strict#Strict", "Strict"],
		["common#Common", "Common"],
		["@scope/dual#Dual", "Dual"],
		["./strategy.mjs:Short", "Short"],
		["common/more/one:One", "One"],
		["@scope/dual:Dual", "Dual"],
	])("%s is loaded with its dependencies", async (name, from) => {
		const strategy = constructStrategy(await checkStrategy(name, folder), dependencies);
		expect(await strategy.compact(context)).toEqual([{ from, locale: "fr" }]);
	});

	it("is found by absolute path and URL, and packages from a folder below", async () => {
		const path = join(folder, "strategy.mjs");
		for (const name of [`${path}#object`, `${pathToFileURL(path)}:object`, "../strategy.mjs:object"]) {
			const strategy = constructStrategy(await checkStrategy(name, join(folder, "sub")), dependencies);
			expect(await strategy.compact(context)).toBeNull();
		}
		await checkStrategy("strict#Strict", join(folder, "sub"));
	});

	it("is checked without being constructed", async () => {
		const checked = await checkStrategy("./strategy.mjs#Failing", folder);
		expect(() => constructStrategy(checked, dependencies)).toThrow(
			expect.objectContaining({
				code: "invalid_policy",
				message: expect.stringMatching(/its constructor failed: TypeError: no luck$/),
			}),
		);
		const other = await checkStrategy("./strategy.mjs#Other", folder);
		expect(() => constructStrategy(other, dependencies)).toThrow("to make an object with a function `compact`");
	});

	it("is constructed for each call", async () => {
		const checked = await checkStrategy("./strategy.mjs#Short", folder);
		const made = constructStrategy(checked, dependencies);
		expect(constructStrategy(checked, dependencies)).not.toBe(made);
	});
});

describe("an invalid external strategy is refused with advice", () => {
	it.each([
		["./missing.mjs#A", /the module was not found from .+\. Install the package there, or give a path/],
		["not-installed-anywhere#A", /the module was not found from/],
		["esm-only#A", /the module was not found from .+\. Install the package there, or give a path/],
		["strict/main.js#A", /the module was not found from/],
		["fs#promises", /the module was not found from/],
		["file:///nowhere/strategy.mjs#A", /the module was not found from/],
		["file://host/strategy.mjs#A", /the module was not found from/],
		["file:#A", /the module was not found from/],
		["./failing.mjs#A", /could not be loaded: RangeError: cannot start$/],
		["./broken.mjs#A", /could not be loaded: /],
		["./needs.mjs#A", /could not be loaded: .*not-installed-anywhere/],
		["./sub#A", /the module was not found from/],
		["./strategy.mjs#short", /no export short; it has .*Short.*\. Did you mean Short\?$/],
		["./strategy.mjs#toString", /no export toString/],
		["./strategy.cjs#Shrt", /Did you mean Short\?$/],
		["./strategy.mjs#nothing", /expected a class with a method `compact`.*, got a number\./],
		["./strategy.mjs#Empty", /got a class without it\./],
		["./strategy.mjs#Field", /got a class without it\. A class has to have it as a method, not as a field\./],
		["./strategy.mjs#plain", /got a function without it\./],
		["./strategy.mjs#list", /got a list\./],
		["./strategy.mjs#none", /got null\./],
		["llm-summary", /got a built-in strategy/],
		["llm-sumary", /Did you mean llm-summary/],
		["./strategy.mjs", /module#Export/],
	])("%s", async (name, message) => {
		expect((await refusalOf(name)).message).toMatch(message);
	});
});
