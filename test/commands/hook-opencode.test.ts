import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { logOf } from "../support/hook-events.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

interface Output {
	title?: string;
	output?: string;
	metadata?: Record<string, unknown>;
	content?: { type: string; text?: string; data?: string }[];
}
type After = (input: { tool: string; args?: unknown }, output: Output) => Promise<void>;

const long = logOf(4_000, { 2000: "FATAL: the disk is on fire" });
let folder: string;
let after: After;

/** Loads a plugin file as the host does. */
async function load(text: string): Promise<After> {
	const file = join(folder, `plugin-${Math.abs(text.length)}-${text.includes("gone")}.mjs`);
	await writeFile(file, text);
	const { default: plugin } = await import(pathToFileURL(file).href);
	return (await plugin.server({ directory: folder }))["tool.execute.after"];
}

beforeAll(async () => {
	folder = await scratchFolder();
	// The plugin runs in the process of its host.
	process.env.PALIMPSEST_ARCHIVE = join(folder, "archive");
	const { code, text, lines } = await runHere(["hook", "opencode"], { folder });
	expect([code, lines]).toEqual([0, []]);
	after = await load(text);
	return () => {
		delete process.env.PALIMPSEST_ARCHIVE;
	};
});

it("shortens a large output in place, and its display to the user", async () => {
	const output: Output = { title: "npm test", output: long, metadata: { output: long, exit: 0 } };
	await after({ tool: "bash", args: { command: "npm test" } }, output);
	expect(output.output?.length).toBeLessThanOrEqual(16_000);
	expect(output.output).toMatch(/\nFATAL: the disk is on fire\n/);
	expect(output).toEqual({ title: "npm test", output: output.output, metadata: { output: output.output, exit: 0 } });
});

it("shortens the texts among the blocks of an MCP tool", async () => {
	const output: Output = {
		content: [
			{ type: "text", text: long },
			{ type: "image", data: "AAAA" },
		],
	};
	await after({ tool: "logs_read" }, output);
	expect(output.content?.[0]?.text?.length).toBeLessThanOrEqual(16_000);
	expect(output.content?.[1]).toEqual({ type: "image", data: "AAAA" });
});

describe("an output that opencode has truncated", () => {
	const whole = logOf(2_000, { 1990: "FATAL: the disk is on fire" });
	const hint = (file: string) =>
		`The tool call succeeded but the output was truncated. Full output saved to: ${file}\nUse Grep to search the full content or Read with offset/limit to view specific sections.`;
	const head = (file: string) => `${whole.slice(0, 40_000)}\n\n...9 bytes truncated...\n\n${hint(file)}`;
	const note = "\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";
	const tail = (file: string) =>
		`...output truncated...\n\nFull output saved to: ${file}\n\n${whole.slice(-40_000)}${note}`;

	async function shortened(text: (file: string) => string, saved: string | undefined) {
		const file = join(folder, "tool-output", "tool_f1");
		await mkdir(join(folder, "tool-output"), { recursive: true });
		if (saved !== undefined) await writeFile(file, saved);
		const outputPath = saved === undefined ? join(folder, "tool-output", "gone") : file;
		const came = text(outputPath);
		const output: Output = { output: came, metadata: { output: "the last lines", truncated: true, outputPath } };
		await after({ tool: "bash", args: { command: "npm test" } }, output);
		const shown = output.output ?? "";
		const ref = / recall ([a-z0-9]+)\]/.exec(shown)?.[1] ?? "";
		const archive = join(folder, "archive");
		const recalled = await runHere(["recall", ref, "--all", "--archive", archive], { folder });
		return { came, shown, recalled: recalled.text };
	}

	it("at its end is archived and shortened from the file that opencode names", async () => {
		const { shown, recalled } = await shortened(head, whole);
		expect(recalled === whole).toBe(true);
		expect(shown.length).toBeLessThanOrEqual(16_000);
		expect(shown).toMatch(/\nFATAL: the disk is on fire\n/);
		expect(shown.split("\n", 1)[0]).toMatch(new RegExp(` of ${whole.length} characters\\)\\. All of it: `));
	});

	it("at its beginning is too, with the note of how the command ended", async () => {
		const { shown, recalled } = await shortened(tail, whole);
		expect(recalled === whole).toBe(true);
		expect(shown.length).toBeLessThanOrEqual(16_000);
		expect(shown.endsWith(note)).toBe(true);
	});

	it.each([
		["is gone", undefined],
		["holds another text", `KEY=secret\n${"y".repeat(90_000)}`],
	])("is archived as received when the file %s, and the notice says so", async (_, saved) => {
		const { came, shown, recalled } = await shortened(head, saved);
		expect(recalled === came).toBe(true);
		expect(shown).toContain(`The host had cut it already; the ${came.length} characters that came: `);
		expect(shown).not.toMatch(/All of it|secret/);
	});
});

it.each([
	["a small output", { tool: "bash", args: { command: "ls" } }, "small"],
	["a file that was read", { tool: "read", args: { filePath: "/p/src/a.ts" } }, long],
	["a recalled original", { tool: "palimpsest_recall_original" }, long],
	["an original recalled by command", { tool: "bash", args: { command: "palimpsest recall ku193 --all" } }, long],
	[
		"the same by the place of the program",
		{ tool: "bash", args: { command: "node /opt/dist/cli.js recall ku193" } },
		long,
	],
])("leaves %s", async (_what, input, text) => {
	const output: Output = { output: text };
	await after(input, output);
	expect(output.output === text).toBe(true);
});

it("leaves the output when the archive cannot be written or the host passes an unexpected value", async () => {
	const output: Output = { output: long };
	const archive = process.env.PALIMPSEST_ARCHIVE;
	await writeFile(join(folder, "no-folder"), "");
	process.env.PALIMPSEST_ARCHIVE = join(folder, "no-folder", "archive");
	const { text } = await runHere(["hook", "opencode"], { folder });
	await (await load(`${text}// gone`))({ tool: "bash" }, output);
	process.env.PALIMPSEST_ARCHIVE = archive;
	expect(output.output === long).toBe(true);
	await expect(after({ tool: "bash" }, undefined as never)).resolves.toBeUndefined();
});
