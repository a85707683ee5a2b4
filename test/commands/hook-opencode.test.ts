import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { logOf } from "../support/hook-events.ts";
import { runCli } from "../support/run-cli.ts";
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
	const { Palimpsest } = await import(pathToFileURL(file).href);
	return (await Palimpsest({}))["tool.execute.after"];
}

beforeAll(async () => {
	folder = await scratchFolder();
	// The plugin starts the command in the environment of its host.
	process.env.PALIMPSEST_ARCHIVE = join(folder, "archive");
	const { code, text, lines } = await runCli(["hook", "opencode"], { folder });
	expect([code, lines]).toEqual([0, []]);
	after = await load(text);
	return () => {
		delete process.env.PALIMPSEST_ARCHIVE;
	};
});

it("shortens a large output in place, and what the user is shown of it", async () => {
	const output: Output = { title: "npm test", output: long, metadata: { output: long, exit: 0 } };
	await after({ tool: "bash", args: { command: "npm test" } }, output);
	expect(output.output?.length).toBeLessThanOrEqual(16_000);
	expect(output.output).toMatch(/\nFATAL: the disk is on fire\n/);
	expect(output).toEqual({ title: "npm test", output: output.output, metadata: { output: output.output, exit: 0 } });
});

it("shortens the texts among the blocks of a server's tool", async () => {
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

it.each([
	["a small output", { tool: "bash", args: { command: "ls" } }, "small"],
	["a file that was read", { tool: "read" }, long],
	["what was recalled", { tool: "palimpsest_recall_original" }, long],
	["what was recalled by command", { tool: "bash", args: { command: "palimpsest recall ku193 --all" } }, long],
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

it("leaves the output where the command is gone, or the host passes something else", async () => {
	const { text } = await runCli(["hook", "opencode"], { folder });
	const gone = await load(text.replace(/const command = .*;/, 'const command = ["no-such-command-here", "gone"];'));
	const output: Output = { output: long };
	await gone({ tool: "bash" }, output);
	expect(output.output === long).toBe(true);
	await expect(after({ tool: "bash" }, undefined as never)).resolves.toBeUndefined();
});
