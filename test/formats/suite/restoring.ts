import { describe, expect, it } from "vitest";
import { outputOf } from "../../support/sample-text.ts";
import { assistant, calls, toolTurn, user } from "../../support/script.ts";
import { thereAndBack } from "../../support/there-and-back.ts";
import { type FormatRow, masking, toolsOf } from "../format-row.ts";

/** The spelling of Python's `json.dumps`. */
function escaped(json: string): string {
	return json.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function describeRestoring(row: FormatRow): void {
	const { format, key, write } = toolsOf(row);
	const text = (id: string) => `${outputOf(id)}\né 结果 \u{1f600} "quoted"`;
	const messages = write(
		user("Go."),
		calls({ id: "open", name: "ls" }),
		user("Again."),
		toolTurn("a", text("a")),
		toolTurn("b", text("b")),
		assistant("Done."),
	);

	describe(`${format.title}: restoring`, () => {
		it.each([
			["JSON", JSON.stringify({ x: 1e2, [key]: messages })],
			["indented JSON with escapes", escaped(JSON.stringify({ [key]: messages }, null, 2))],
			["JSON Lines", messages.map((message) => JSON.stringify(message)).join("\n")],
			["JSON Lines with escapes and line ends", messages.map((one) => `${escaped(JSON.stringify(one))}\r\n`).join("")],
		])("masks and restores %s to the byte", async (_, file) => {
			const { outcome, masked, restored } = await thereAndBack(file, masking);
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.masked_tool_results).toBe(1);
			expect(masked).not.toBe(file);
			expect(restored).toBe(file);
		});
	});
}
