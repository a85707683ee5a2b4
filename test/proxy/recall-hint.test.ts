import { describe, expect, it } from "vitest";
import { recallOffered } from "../../src/proxy/recall-hint.ts";

const offered = (...tools: readonly unknown[]) => recallOffered({ tools }, "palimpsest recall")?.by;
const command = "`palimpsest recall {ref}`";

describe("how an original is read", () => {
	it.each([
		["Anthropic", { name: "mcp__palimpsest__recall_original", input_schema: {} }, "mcp__palimpsest__recall_original"],
		[
			"OpenAI chat",
			{ type: "function", function: { name: "palimpsest_recall_original" } },
			"palimpsest_recall_original",
		],
		["OpenAI Responses", { type: "function", name: "recall_original" }, "recall_original"],
		["Gemini", { functionDeclarations: [{ name: "look" }, { name: "recall_original" }] }, "recall_original"],
	])("by the tool of %s that is named like recall_original, before any shell", (_, tool, name) => {
		expect(offered({ name: "Bash" }, tool)).toBe(name);
	});

	it.each([
		"Bash",
		"bash",
		"shell",
		"exec_command",
		"shell_command",
		"run_shell_command",
		"execute_command",
		"PowerShell",
	])("by the command in the shell %s", (name) => {
		expect(offered({ name: "Read" }, { name })).toBe(command);
	});

	it("by the command in OpenAI's own shell, which has no name", () => {
		expect(offered({ type: "local_shell" })).toBe(command);
	});

	it.each([[{ name: "Read" }], [{ name: "recall_original_files" }], [{ name: "bashful" }], [null], ["bash"], []])(
		"not at all by %j",
		(...tools) => {
			expect(offered(...tools)).toBeUndefined();
		},
	);

	it.each([undefined, null, {}, { tools: null }, { tools: {} }])("not at all in %j", (body) => {
		expect(recallOffered(body, "palimpsest recall")).toBeUndefined();
	});
});
