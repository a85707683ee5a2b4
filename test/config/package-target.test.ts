import { describe, expect, it } from "vitest";
import { packageTarget } from "../../src/config/package-target.ts";

describe("packageTarget", () => {
	it.each([
		["a text", "./main.js", ".", "./main.js"],
		["a list", ["no-file", "./main.js"], ".", "./main.js"],
		["conditions", { types: "./main.d.ts", import: "./main.js", default: "./other.js" }, ".", "./main.js"],
		["conditions in their order", { default: "./other.js", import: "./main.js" }, ".", "./other.js"],
		["conditions within conditions", { node: { require: "./a.cjs", import: "./a.js" } }, ".", "./a.js"],
		["a condition that leads nowhere", { node: { require: "./a.cjs" }, default: "./b.js" }, ".", "./b.js"],
		["a subpath", { ".": "./main.js", "./one": { import: "./one.js" } }, "./one", "./one.js"],
		["a pattern", { "./more/*.js": "./lib/*/index.js" }, "./more/a/b.js", "./lib/a/b/index.js"],
		["the longest pattern", { "./*": "./all/*.js", "./more/*": "./more/*.js" }, "./more/a", "./more/a.js"],
		["one that is closed", { "./*": "./*.js", "./secret/*": null }, "./secret/a", undefined],
		["require alone", { require: "./main.cjs" }, ".", undefined],
		["another subpath", { "./one": "./one.js" }, "./two", undefined],
		["no subpath but the package", "./main.js", "./two", undefined],
		["a file outside", "./../elsewhere.js", ".", undefined],
		["nothing", undefined, ".", undefined],
	])("%s", (_, exports, subpath, target) => {
		expect(packageTarget(exports, subpath)).toBe(target);
	});
});
