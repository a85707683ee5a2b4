import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { copilotCliEvent, logOf } from "../support/hook-events.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
let environment: Readonly<Record<string, string>>;
beforeEach(async () => {
	folder = await scratchFolder();
	environment = { PALIMPSEST_ARCHIVE: join(folder, "archive"), PALIMPSEST_LOCALE: "en" };
});
const call = (input: string, ...parameters: string[]) =>
	runHere(["hook", "copilot-cli", ...parameters], { folder, input, environment });
const long = logOf(4_000, { 2000: "FATAL: the disk is on fire" });
const success = (textResultForLlm: string) => ({ resultType: "success", textResultForLlm });
const command = { command: "npm test", description: "Run tests" };
const ending = "\n<shellId: 0 completed with exit code 1>";

/** As Copilot CLI 1.0.102 shows an output that it has put into a file. */
function savedIn(file: string, start: string): string {
	const advice = "Consider using tools like grep (for searching) to examine portions of the output.";
	const name = `Output too large to read at once (58.6 KB). Saved to: ${file}`;
	return `${name}\n${advice}\n\nPreview (first 500 chars):\n${start.slice(0, 500)}${ending}`;
}

async function shortened(event: string): Promise<string> {
	const { code, text, lines } = await call(event);
	expect([code, lines]).toEqual([0, []]);
	const { modifiedResult, ...rest } = JSON.parse(text);
	expect(rest).toEqual({});
	const { textResultForLlm, ...others } = modifiedResult;
	expect(others).toEqual({ resultType: "success" });
	return textResultForLlm;
}

async function recalledFrom(text: string): Promise<string> {
	const [, ref = ""] = /^\[Output shortened: .* recall (\w+)\]\n/.exec(text) ?? [];
	return (await runHere(["recall", ref, "--all"], { folder, environment })).text;
}

it("replaces the text of a large result, and archives the original", async () => {
	const text = await shortened(copilotCliEvent("bash", command, success(long)));
	expect(text.length).toBeLessThanOrEqual(16_000);
	expect(text).toMatch(/\nFATAL: the disk is on fire\n/);
	expect(await recalledFrom(text)).toBe(long);
});

it("leaves the host's own preview of an output that it has saved", async () => {
	const file = join(folder, "1795377915475-copilot-tool-output-23943-0ca2a5a5.txt");
	await writeFile(file, long);
	const event = copilotCliEvent("bash", command, success(savedIn(file, long)));
	for (const limit of [[], ["--max-chars", "300"]]) {
		expect(await call(event, ...limit)).toMatchObject({ code: 0, text: "", lines: [] });
	}
});

it("shortens a large result that only begins like such a preview", async () => {
	const text = await shortened(copilotCliEvent("bash", command, success(savedIn("/tmp/other.txt", long) + long)));
	expect(text.length).toBeLessThanOrEqual(16_000);
});

it.each<[string, string]>([
	["a small result", copilotCliEvent("bash", command, success("small"))],
	["a failure", copilotCliEvent("bash", command, { resultType: "failure", textResultForLlm: long })],
	[
		"a result with an image",
		copilotCliEvent("view", {}, { ...success(long), binaryResultsForLlm: [{ data: "AAAA" }] }),
	],
	["a recalled original", copilotCliEvent("palimpsest-recall_original", {}, success(long))],
	["a recall by command", copilotCliEvent("bash", { command: "palimpsest recall ku193 --all" }, success(long))],
	["an event without a tool", JSON.stringify({ sessionId: "a", prompt: long })],
])("leaves %s unchanged without an answer", async (_what, event) => {
	expect(await call(event)).toMatchObject({ code: 0, text: "", lines: [] });
});
