import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { bashResponse, claudeCodeEvent, logOf } from "../support/hook-events.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
let environment: Readonly<Record<string, string>>;
beforeEach(async () => {
	folder = await scratchFolder();
	environment = { PALIMPSEST_ARCHIVE: join(folder, "archive"), PALIMPSEST_LOCALE: "en" };
});

const call = (input: string, ...parameters: string[]) =>
	runHere(["hook", "claude-code", ...parameters], { folder, input, environment });

/** The result in the place of the tool's own. */
async function updated<T>(toolName: string, toolInput: unknown, toolResponse: unknown): Promise<T> {
	const { code, text, lines } = await call(claudeCodeEvent(toolName, toolInput, toolResponse));
	expect([code, lines]).toEqual([0, []]);
	const answer = JSON.parse(text);
	expect(answer).toEqual({
		hookSpecificOutput: { hookEventName: "PostToolUse", updatedToolOutput: expect.anything() },
	});
	return answer.hookSpecificOutput.updatedToolOutput;
}

const long = logOf(4_000, { 2000: "FATAL: the disk is on fire" });
const command = { command: "npm test", description: "Run tests" };
const unchanged = { code: 0, text: "", lines: [] };

describe("a large result", () => {
	it("of a command is shortened in the shape of the tool and archived in full", async () => {
		const { stdout, ...rest } = await updated<{ stdout: string }>("Bash", command, bashResponse(long));
		expect(rest).toEqual({ stderr: "", interrupted: false, isImage: false, noOutputExpected: false });
		expect(stdout.length).toBeLessThanOrEqual(16_000);
		expect(stdout.length).toBeGreaterThan(2_000);
		expect(stdout).toMatch(/\nFATAL: the disk is on fire\n/);
		const [, ref = ""] = /^\[Output shortened: .* All of it: .+ recall (\w+)\]\n/.exec(stdout) ?? [];
		expect((await runHere(["recall", ref, "--all"], { folder, environment })).text).toBe(long);
		const byCall = await runHere(["recall", "--tool-call-id", "toolu_01ABC123", "--json"], { folder, environment });
		expect(JSON.parse(byCall.text)).toMatchObject({ ref, tool_name: "Bash", kind: "result" });
	});

	it("of a command with a long standard error shares the room between both streams", async () => {
		const response = bashResponse(long, { stderr: long.slice(1) });
		const { stdout, stderr } = await updated<{ stdout: string; stderr: string }>("Bash", command, response);
		for (const part of [stdout, stderr]) expect(part.length).toBeLessThanOrEqual(8_000);
		for (const part of [stdout, stderr]) expect(part).toContain("FATAL: the disk is on fire");
		const small = await updated<{ stderr: string }>("Bash", command, bashResponse(long, { stderr: "a warning" }));
		expect(small.stderr).toBe("a warning");
	});

	it("of a search or a page is shortened", async () => {
		const grep = { mode: "content", numFiles: 0, filenames: [], content: long, numLines: 4_000 };
		const found = await updated<typeof grep>("Grep", { pattern: "log" }, grep);
		expect({ ...found, content: "" }).toEqual({ ...grep, content: "" });
		expect(found.content.length).toBeLessThanOrEqual(16_000);
		const page = { bytes: 9, code: 200, codeText: "OK", result: long, durationMs: 1, url: "https://example.org" };
		const fetched = await updated<typeof page>("WebFetch", { url: page.url }, page);
		expect({ ...fetched, result: "" }).toEqual({ ...page, result: "" });
	});

	it("of an MCP tool is shortened as a text or as texts among blocks", async () => {
		const text = await updated<string>("mcp__logs__read", {}, long);
		expect(text.length).toBeLessThanOrEqual(16_000);
		const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
		const short = { type: "text", text: "short" };
		const blocks = [short, { type: "text", text: long, extra: 1 }, image];
		const [first, second, third] = await updated<{ text: string; extra: number }[]>("mcp__logs__read", {}, blocks);
		expect([first, third, second?.extra]).toEqual([short, image, 1]);
		expect(second?.text.length).toBeLessThanOrEqual(15_995);
	});

	it("of a file that was read is cut at its end only, so that its line numbers stay correct", async () => {
		const file = { filePath: "/p/a.log", content: long, numLines: 4_000, startLine: 101, totalLines: 9_000 };
		const read = await updated<{ type: string; file: typeof file }>(
			"Read",
			{ file_path: "/p/a.log" },
			{ type: "text", file },
		);
		const lines = read.file.content.split("\n");
		const notice = lines.pop() ?? "";
		expect(lines).toEqual(long.split("\n").slice(0, lines.length));
		expect(notice).toBe(`[... lines ${101 + lines.length}-4100 left out: read them with offset and limit ...]`);
		expect(read).toEqual({ type: "text", file: { ...file, content: read.file.content, numLines: lines.length + 1 } });
		expect(read.file.content.length).toBeLessThanOrEqual(16_000);
	});

	it.each([
		["by itself", (text: string) => text],
		[
			"behind an image",
			(text: string) => [
				{ type: "image", source: {} },
				{ type: "text", text },
			],
		],
	])("of an MCP server is shortened when the host passes its structured content, %s", async (_, wrap) => {
		const structured = JSON.stringify({
			rows: Array.from({ length: 2_000 }, (_, row) => ({ row, name: `name ${row}` })),
		});
		const { text } = await call(claudeCodeEvent("mcp__a__b", {}, wrap(structured)));
		const { updatedToolOutput: output } = JSON.parse(text).hookSpecificOutput;
		const shown = typeof output === "string" ? output : output.at(-1).text;
		expect(Array.isArray(output)).toBe(Array.isArray(wrap("")));
		expect(structured.length).toBeGreaterThan(40_000);
		expect(shown.length).toBeLessThanOrEqual(16_000);
		expect(shown).toContain('"name 0"');
	});

	it("is shortened according to the settings", async () => {
		const { text } = await call(claudeCodeEvent("Bash", command, bashResponse(logOf(100))), "--max-chars", "1000");
		expect(JSON.parse(text).hookSpecificOutput.updatedToolOutput.stdout.length).toBeLessThanOrEqual(1_000);
	});
});

/** As Claude Code 2.1.332 passes an output that it has saved: the start of it alone, or its start and its end. */
const savedByHost = (shown: string, file: string) => ({
	...bashResponse(shown),
	persistedOutputPath: file,
	persistedOutputSize: long.length,
	stdoutHoldsOutputEnd: true,
});

describe("an unchanged result", () => {
	const huge = "x".repeat(40_000);
	it.each(["Bash", "PowerShell"])("of %s, which the host has saved whole and shows as a preview", async (tool) => {
		const file = join(folder, "b1.txt");
		await writeFile(file, long);
		for (const shown of [long.slice(0, 2_000), long.slice(0, 30_000), long]) {
			const event = claudeCodeEvent(tool, command, savedByHost(shown, file));
			expect(await call(event)).toMatchObject(unchanged);
			expect(await call(event, "--max-chars", "1000")).toMatchObject(unchanged);
		}
	});

	it.each<[string, string]>([
		["that is small", claudeCodeEvent("Bash", command, bashResponse("small"))],
		[
			"that is an image",
			claudeCodeEvent("Bash", command, bashResponse(`data:image/png;base64,${huge}`, { isImage: true })),
		],
		["of a tool whose shape is not known", claudeCodeEvent("Edit", {}, { filePath: "/a", originalFile: huge })],
		["of a notebook that was read", claudeCodeEvent("Read", {}, { type: "notebook", file: { cells: [huge] } })],
		[
			"as a server sent it, with a structured content beside the text",
			claudeCodeEvent("mcp__a__b", {}, { content: [{ type: "text", text: huge }], structuredContent: {} }),
		],
		["that was recalled", claudeCodeEvent("mcp__palimpsest__recall_original", {}, huge)],
		[
			"that was recalled by command",
			claudeCodeEvent("Bash", { command: "palimpsest recall ku193 --all" }, bashResponse(huge)),
		],
		[
			"that was recalled by the place of the program",
			claudeCodeEvent(
				"Bash",
				{ command: '/usr/bin/node "/opt/my tools/dist/cli.js" recall ku193 --all' },
				bashResponse(huge),
			),
		],
		[
			"of another event",
			JSON.stringify({
				...JSON.parse(claudeCodeEvent("Bash", command, bashResponse(huge))),
				hook_event_name: "PreToolUse",
			}),
		],
	])("%s", async (_what, event) => {
		expect(await call(event)).toMatchObject(unchanged);
	});
});

describe("after any failure the host continues: no answer, exit code 0, one line on standard error", () => {
	const event = claudeCodeEvent("Bash", command, bashResponse(long));
	const quiet = (run: Awaited<ReturnType<typeof call>>) => {
		expect([run.code, run.text]).toEqual([0, ""]);
		expect(run.lines).toEqual([expect.stringMatching(/^palimpsest: result left unedited: /)]);
		expect(run.lines[0]).not.toContain("line 1 of the log");
	};

	it("an event that is invalid JSON, truncated, or of another shape", async () => {
		quiet(await call(event.slice(0, 50_000)));
		quiet(await call(`line 1 of the log ${long}`));
		expect(await call("")).toMatchObject(unchanged);
		for (const odd of ["null", "[]", "7", JSON.stringify({ hook_event_name: "PostToolUse", tool_name: 7, x: long })])
			expect(await call(odd.padEnd(20_000))).toMatchObject(unchanged);
	});

	it("an archive that is not writable", async () => {
		const where = join(folder, "broken");
		await mkdir(where);
		await writeFile(join(where, "default"), "a file where a folder should be");
		quiet(await call(event, "--archive", where));
		quiet(await call(event, "--archive", "no such kind of place"));
	});

	it("an invalid policy file", async () => {
		await writeFile(join(folder, "palimpsest.toml"), "[truncate\n");
		quiet(await call(event));
	});

	it("invalid options", async () => {
		quiet(await call(event, "--max-chars", "many"));
		quiet(await call(event, "--max-chars"));
		for (const unknown of [["--nope"], ["--max-char", "2000"], ["--set", "locale=en"], ["extra"]]) {
			quiet(await call(event, "--max-chars=2000", ...unknown));
		}
	});
});

it("uses the language of the policy, and the default without one", async () => {
	const event = claudeCodeEvent("Bash", command, bashResponse(long));
	const { text } = await runHere(["hook", "claude-code"], { folder, input: event });
	expect(JSON.parse(text).hookSpecificOutput.updatedToolOutput.stdout).toMatch(/^\[Sortie abrégée : /);
	await writeFile(join(folder, "palimpsest.toml"), 'locale = "zh"\n');
	const chinese = await runHere(["hook", "claude-code"], { folder, input: event });
	expect(JSON.parse(chinese.text).hookSpecificOutput.updatedToolOutput.stdout).toMatch(/^\[输出已缩短/);
});
