import { expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it.each([
	[["mask"], "expected file; got none", "mask"],
	[["replay", "--model"], "expected a value for --model <names>; got none", "replay"],
	[["replay", "x", "--fo"], "expected an option of this command; got --fo", "replay"],
	[["replay", "x", "--modle"], "expected an option of this command; got --modle. Did you mean --model?", "replay"],
	[["replay", "x", "--o'b\n'"], "expected an option of this command; got --o'b '", "replay"],
	[["doctor", "extra"], "expected no argument; got 1", "doctor"],
	[["recall", "a", "b"], "expected 1 argument; got 2", "recall"],
	[["proxy", "--port", "x"], "expected a whole number, 0 to 65535 for --port <port>; got 'x'", "proxy"],
	[["proxy", "--port", "it's"], "expected a whole number, 0 to 65535 for --port <port>; got 'it's'", "proxy"],
	[
		["stats", "--by", "x"],
		"expected one of day, person, project, program, model, agent for --by <what>; got 'x'",
		"stats",
	],
	[["replay", "x", "--breaks", "--model", "y"], "expected --breaks or --model <names>; got both", "replay"],
	[["trial"], "expected --program <program>; got none", "trial"],
] as const)("%j says what was expected, what came, and where the help is", async (parameters, text, command) => {
	const { code, lines } = await runHere(parameters, { folder: await scratchFolder() });
	expect([code, lines.join(" ")]).toEqual([2, `error: ${text} See palimpsest ${command} --help.`]);
});

it("the choices of an argument are said as those of an option", async () => {
	const { lines } = await runHere(["hook", "install", "nope"], { folder: await scratchFolder() });
	expect(lines[0]).toMatch(/^error: expected one of claude-code, .* for host; got 'nope'$/);
});
