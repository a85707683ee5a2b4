import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { codexEvent, logOf } from "../support/hook-events.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
let environment: Readonly<Record<string, string>>;
beforeEach(async () => {
	folder = await scratchFolder();
	environment = { PALIMPSEST_ARCHIVE: join(folder, "archive"), PALIMPSEST_LOCALE: "en", CODEX_HOME: "" };
});
const call = (input: string, ...parameters: string[]) =>
	runHere(["hook", "codex", ...parameters], { folder, input, environment });
const long = logOf(4_000, { 2000: "FATAL: the disk is on fire" });
const textBlock = (text: string) => ({ type: "text", text });

async function reasonFor(toolName: string, response: unknown, ...parameters: string[]): Promise<string> {
	const { code, text, lines } = await call(codexEvent(toolName, { command: "npm test" }, response), ...parameters);
	expect([code, lines]).toEqual([0, []]);
	const { decision, reason, ...rest } = JSON.parse(text);
	expect([decision, rest]).toEqual(["block", {}]);
	return reason;
}

it("replaces a large result of a shell or an MCP tool, and archives the original", async () => {
	const halves = [textBlock(long.slice(0, 50_000)), textBlock(long.slice(50_000))];
	const cases: [string, unknown, string][] = [
		["Bash", long, long],
		["mcp__big__log", { content: [textBlock(long)] }, long],
		["mcp__big__log", { content: halves }, halves.map(({ text }) => text).join("\n")],
	];
	for (const [name, response, whole] of cases) {
		const reason = await reasonFor(name, response);
		expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(9_800);
		expect(reason.length).toBeGreaterThan(2_000);
		expect(reason).toMatch(/^\[Output shortened: .*\]\n/);
		expect(reason).toMatch(/\nFATAL: the disk is on fire\n/);
		const [, ref = ""] = /: .+ recall (\w+)\]/.exec(reason) ?? [];
		expect((await runHere(["recall", ref, "--all"], { folder, environment })).text).toBe(whole);
	}
});

it("shows structured content as the host does: its JSON", async () => {
	const reason = await reasonFor("mcp__big__log", { content: [textBlock("short")], structuredContent: { log: long } });
	expect(reason).toContain("line 1 of the log is fine\\nline 2");
});

it("keeps within the host's bytes where characters take three of them", async () => {
	const reason = await reasonFor("mcp__big__log", {
		content: [textBlock("一段很长的日志，没有换行。\n".repeat(4_000))],
	});
	expect(Buffer.byteLength(reason)).toBeLessThanOrEqual(9_800);
	expect(reason.length).toBeGreaterThan(2_000);
});

it("says of an output that the host has cut that only the received part is kept", async () => {
	const cut = `Warning: truncated output (original token count: 147226)\nTotal output lines: 100001\n\n${long}`;
	expect(await reasonFor("Bash", cut)).toMatch(
		/^\[Output shortened: .* The host had cut it already; the \d+ characters that came: /,
	);
});

it("takes the language of the server's entry", async () => {
	await mkdir(join(folder, ".codex"));
	const entry = '[mcp_servers.palimpsest]\ncommand = "npx"\n[mcp_servers.palimpsest.env]\nPALIMPSEST_LOCALE = "zh"\n';
	await writeFile(join(folder, ".codex", "config.toml"), entry);
	environment = { ...environment, PALIMPSEST_LOCALE: "" };
	expect(await reasonFor("Bash", long)).toMatch(/^\[\p{Script=Han}/u);
});

it.each<[string, string]>([
	["a small result", codexEvent("Bash", {}, "small")],
	["an error of a tool", codexEvent("mcp__big__log", {}, { isError: true, content: [textBlock(long)] })],
	[
		"a result with an image",
		codexEvent(
			"mcp__big__log",
			{},
			{ content: [textBlock(long), { type: "image", data: "AAAA", mimeType: "image/png" }] },
		),
	],
	["a recalled original", codexEvent("mcp__palimpsest__recall_original", {}, { content: [textBlock(long)] })],
	["a recall by command", codexEvent("Bash", { command: "palimpsest recall ku193 --all" }, long)],
	["another event", codexEvent("Bash", {}, long).replace("PostToolUse", "PreToolUse")],
])("leaves %s unchanged without an answer", async (_what, event) => {
	expect(await call(event)).toMatchObject({ code: 0, text: "", lines: [] });
});

it("passes the result through on any failure", async () => {
	await writeFile(join(folder, "file"), "");
	for (const run of [await call(long), await call(codexEvent("Bash", {}, long), "--archive", join(folder, "file"))]) {
		expect([run.code, run.text]).toEqual([0, ""]);
		expect(run.lines).toEqual([expect.stringMatching(/^palimpsest: result left unedited: /)]);
	}
});
