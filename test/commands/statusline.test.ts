import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFigures } from "../../src/storage/figures/store.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

async function machine() {
	const folder = await scratchFolder();
	const environment = { XDG_STATE_HOME: join(folder, "state") };
	const figures = openFigures({ keep: "all", program: "claude", folder: join(folder, "state/palimpsest/figures") });
	const line = async (input: unknown, ...parameters: string[]) => {
		const text = typeof input === "string" ? input : JSON.stringify(input);
		return runCli(["statusline", ...parameters], { folder, environment, input: text });
	};
	return { folder, environment, figures, line };
}

const request = {
	kind: "request",
	model: "claude-haiku-5-5",
	input: 10,
	read: 90_000,
	write: 2_000,
	output: 9,
} as const;

it("statusline shows window, price step, cache and today's saving", async () => {
	const { folder, figures, line } = await machine();
	figures.add({ ...request, left_out: 0, billed: 9, usd: 0.25, usd_unedited: 0.85 });
	figures.add({ kind: "ping", billed: 9, usd: 0.1 });
	const transcript = join(folder, "session.jsonl");
	const answer = (time: Date, forHour: number) =>
		JSON.stringify({
			type: "assistant",
			timestamp: time.toISOString(),
			message: { usage: { cache_creation: { ephemeral_1h_input_tokens: forHour } } },
		});
	const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000);
	await writeFile(transcript, `${answer(ago(30), 0)}\n${answer(ago(20), 7)}\n{"type":"user","timestamp":"x"}\n`);
	const usage = { input_tokens: 10, cache_creation_input_tokens: 2_000, cache_read_input_tokens: 150_000 };
	const input = {
		model: { id: "claude-haiku-5-5" },
		context_window: { context_window_size: 1_000_000, current_usage: usage },
		transcript_path: transcript,
	};
	expect((await line(input)).text).toBe(
		"context 152 k of 1 M (15 %) · over the price step at 100 k · cache warm for 40 min · saved $0.50 today\n",
	);
	await writeFile(transcript, `${answer(ago(20), 0)}\n`);
	expect((await line(input)).text).toContain(" · cache cold · ");
	expect((await line("", "--shell")).text).toMatch(
		/^context 92 k · price step at 100 k · cache warm for \d min · saved \$0\.50 today\n$/,
	);
});

it("statusline times the cache by the last answer of the main conversation, for as long as its last write lives", async () => {
	const { folder, line } = await machine();
	const transcript = join(folder, "session.jsonl");
	const answer = (minutesAgo: number, forHour: number, more = {}, model = "claude-opus-5-5") =>
		JSON.stringify({
			type: "assistant",
			...more,
			timestamp: new Date(Date.now() - minutesAgo * 60_000).toISOString(),
			message: { model, usage: { cache_creation: { ephemeral_1h_input_tokens: forHour } } },
		});
	const others = [answer(2, 0, { isSidechain: true }), answer(1, 0, {}, "<synthetic>")];
	await writeFile(transcript, [answer(30, 7), answer(10, 0), ...others].join("\n"));
	expect((await line({ transcript_path: transcript })).text).toBe("cache warm for 50 min\n");
	// The clock was put back.
	await writeFile(transcript, answer(-30, 7));
	expect((await line({ transcript_path: transcript })).text).toBe("cache warm for 60 min\n");
});

it("statusline leaves out missing values, and never fails", async () => {
	const { line } = await machine();
	for (const input of [
		"",
		"{",
		"[]",
		{ model: 7, context_window: { current_usage: "many" }, transcript_path: "/absent" },
	]) {
		expect(await line(input)).toMatchObject({ code: 0, text: "\n", lines: [] });
	}
	expect((await line("", "--other")).code).toBe(2);
});

it("install --statusline keeps the rest of the settings, and a line of the user's own", async () => {
	const { folder, environment } = await machine();
	const file = join(folder, ".claude/settings.json");
	const run = (...parameters: string[]) => runCli(parameters, { folder, environment });
	await mkdir(join(folder, ".claude"));
	const before = '{\n  // mine\n  "model": "opus"\n}\n';
	await writeFile(file, before);
	expect((await run("install", "claude-code", "--statusline")).code).toBe(0);
	const installed = await readFile(file, "utf8");
	expect(installed).toContain("// mine");
	expect(installed).toMatch(/"statusLine": \{[\s\S]*"command": ".* statusline"/);
	expect((await run("install", "claude-code", "--statusline")).lines.join()).toContain("nothing to change");
	expect((await run("uninstall", "claude-code", "--statusline")).code).toBe(0);
	expect(await readFile(file, "utf8")).toBe(before);

	const own = '{ "statusLine": { "type": "command", "command": "~/line.sh" } }\n';
	await writeFile(file, own);
	const refused = await run("install", "claude-code", "--statusline");
	expect(refused.code).toBe(1);
	expect(refused.lines.join()).toContain("status line of their own");
	await run("uninstall", "claude-code", "--statusline");
	expect(await readFile(file, "utf8")).toBe(own);
	expect((await run("install", "codex", "--statusline")).code).toBe(2);
});
