import { describe, expect, it } from "vitest";
import { environmentLayer, parsePolicyText, resolvePolicy, settingsLayer } from "../../../src/engine/policy/layers.ts";

const written = `
[[mask.observations]]
before = "### Output of {tool} (*)\\n"
after = "### Next?"

[[mask.observations]]
before = "$ "
action = "RUN:"
tool = "shell"
`;

describe("mask.observations", () => {
	it("takes patterns as tables of a policy file", () => {
		const { observations } = resolvePolicy([parsePolicyText(written, "the file")]).mask;
		expect(observations).toEqual([
			{ before: "### Output of {tool} (*)\n", after: "### Next?" },
			{ before: "$ ", action: "RUN:", tool: "shell" },
		]);
	});

	it.each<[string, unknown]>([
		["true", true],
		["false", false],
		["auto", "auto"],
		['[{ before = "> " }]', [{ before: "> " }]],
	])("takes %s from a setting and from the environment", (text, value) => {
		for (const layer of [
			settingsLayer([`mask.observations=${text}`]),
			environmentLayer({ PALIMPSEST_MASK_OBSERVATIONS: text }),
		]) {
			expect(resolvePolicy([layer]).mask.observations).toEqual(value);
		}
	});

	it.each([
		["no `before`", '[{ after = "x" }]', /mask\.observations/],
		["an empty `before`", '[{ before = "" }]', /mask\.observations/],
		[
			"three wildcards, which would take long to match",
			'[{ before = "* {tool} *" }]',
			/at most two of \{tool\} and \*/,
		],
		["another word", '"sometimes"', /mask\.observations/],
		["an unknown key", '[{ before = "x", behind = "y" }]', /mask\.observations/],
	])("refuses %s", (_, text, message) => {
		expect(() => settingsLayer([`mask.observations=${text}`])).toThrow(message);
	});
});
