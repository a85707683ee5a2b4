import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { geminiCliEvent, logOf } from "../support/hook-events.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
let environment: Readonly<Record<string, string>>;
beforeEach(async () => {
	folder = await scratchFolder();
	environment = { PALIMPSEST_ARCHIVE: join(folder, "archive"), PALIMPSEST_LOCALE: "en" };
});
const call = (input: string, ...parameters: string[]) =>
	runHere(["hook", "gemini-cli", ...parameters], { folder, input, environment });
const input = { command: "npm test" };
const long = logOf(4_000, { 2000: "FATAL: the disk is on fire" });
const notice = "[Not blocked, and no error of the tool: its long output is shortened below.]\n";

it("returns the shortened result as the reason of a pretended denial, and archives the original", async () => {
	for (const llmContent of [long, [{ text: long.slice(0, 50_000) }, { text: long.slice(50_000) }], { text: long }]) {
		const response = { llmContent, returnDisplay: "shown to the user" };
		const { code, text, lines } = await call(geminiCliEvent("run_shell_command", input, response));
		expect([code, lines]).toEqual([0, []]);
		const { decision, reason, ...rest } = JSON.parse(text);
		expect([decision, rest]).toEqual(["deny", {}]);
		expect(reason.length).toBeLessThanOrEqual(16_000);
		expect(reason.startsWith(`${notice}[Output shortened: `)).toBe(true);
		expect(reason).toMatch(/\nFATAL: the disk is on fire\n/);
		const [, ref = ""] = /: .+ recall (\w+)\]/.exec(reason) ?? [];
		expect((await runHere(["recall", ref, "--all"], { folder, environment })).text).toBe(long);
	}
});

it.each<[string, string]>([
	["a small result", geminiCliEvent("run_shell_command", input, { llmContent: "small" })],
	["an error", geminiCliEvent("run_shell_command", input, { llmContent: long, error: { message: "no", type: "x" } })],
	["an image", geminiCliEvent("read_file", {}, { llmContent: [{ text: long }, { inlineData: { data: "AAAA" } }] })],
	["a recalled original", geminiCliEvent("mcp_palimpsest_recall_original", {}, { llmContent: long })],
	[
		"another event",
		JSON.stringify({ ...JSON.parse(geminiCliEvent("a", {}, { llmContent: long })), hook_event_name: "BeforeTool" }),
	],
])("leaves %s unchanged with an empty answer", async (_what, event) => {
	expect(await call(event)).toMatchObject({ code: 0, text: "{}\n", lines: [] });
});

it("passes the result through on any failure", async () => {
	const event = geminiCliEvent("run_shell_command", input, { llmContent: long });
	await writeFile(join(folder, "file"), "");
	for (const run of [
		await call(long),
		await call(event, "--archive", join(folder, "file")),
		await call(event, "--max-chars", "-1"),
	]) {
		expect([run.code, run.text]).toEqual([0, "{}\n"]);
		expect(run.lines).toEqual([expect.stringMatching(/^palimpsest: result left unedited: /)]);
	}
});
