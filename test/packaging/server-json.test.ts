import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { default as formats } from "ajv-formats";
import { describe, expect, it } from "vitest";
import { environmentLayer, otherVariables, resolvePolicy } from "../../src/engine/policy/layers.ts";
import { presets } from "../../src/engine/policy/presets.ts";
import { packageFolder } from "../support/built-cli.ts";

const read = (name: string) => JSON.parse(readFileSync(join(packageFolder, name), "utf8"));
const server = read("server.json");
const manifest = read("package.json");
const [npm] = server.packages;

const validator = new Ajv2020({ allErrors: true });
formats.default(validator);
const isValid = validator.compile(read("test/packaging/server-json-rules.json"));

describe("server.json, for the MCP Registry", () => {
	it("satisfies the registry's schema", () => {
		expect([isValid(server), isValid.errors]).toEqual([true, null]);
	});

	it.each([
		["a description of 101 characters", { ...server, description: "a".repeat(101) }],
		["a name without a namespace", { ...server, name: "palimpsest" }],
		["a range for a version", { ...server, version: "^0.1.0" }],
		["a package without a transport", { ...server, packages: [{ ...npm, transport: undefined }] }],
	])("would fail it with %s", (_, changed) => {
		expect(isValid(JSON.parse(JSON.stringify(changed)))).toBe(false);
	});

	it("matches package.json, which the registry reads as the proof of ownership", () => {
		expect(server.name).toBe(manifest.mcpName);
		expect(npm.identifier).toBe(manifest.name);
		expect([server.version, npm.version]).toEqual([manifest.version, manifest.version]);
	});

	it("names existing variables, with our choices and defaults", () => {
		const usual = resolvePolicy([]);
		const variables: { name: string; choices?: string[]; default?: string }[] = npm.environmentVariables;
		for (const { name, default: value, choices = [] } of variables) {
			if (Object.hasOwn(otherVariables, name)) continue;
			for (const one of choices) expect(() => environmentLayer({ [name]: one })).not.toThrow();
			expect(() => environmentLayer({ [name]: value ?? "1" })).not.toThrow();
			if (value !== undefined) expect(resolvePolicy([environmentLayer({ [name]: value })])).toEqual(usual);
		}
		const named = variables.find(({ name }) => name === "PALIMPSEST_PRESET");
		expect([...(named?.choices ?? [])].sort()).toEqual(Object.keys(presets).sort());
	});
});
