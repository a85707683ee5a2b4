import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openFigures } from "../../src/storage/figures/store.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it("stats shows sent, saved and cut amounts, in words and as JSON", async () => {
	const folder = await scratchFolder();
	const environment = { XDG_STATE_HOME: join(folder, "state") };
	const run = (...parameters: string[]) => runHere(["stats", ...parameters], { folder, environment });
	const empty = await run();
	expect(empty).toMatchObject({ code: 0, lines: [] });
	expect(empty.text).toContain("No figures of the last 30 days.");

	const figures = openFigures({ keep: "all", program: "claude", folder: join(folder, "state/palimpsest/figures") });
	const request = {
		kind: "request",
		model: "claude-opus-5-5",
		input: 10,
		read: 90_000,
		write: 2_000,
		output: 300,
	} as const;
	figures.add({ ...request, left_out: 40_000, billed: 11_500, unedited: 23_000, usd: 0.25, usd_unedited: 0.5 });
	figures.add({ ...request, left_out: 0, billed: 11_500, estimated: true, undecided: "frozen" });
	figures.add({ kind: "ping", billed: 1_300, usd: 0.03 });
	figures.add({ kind: "ping", billed: 1_000, usd: 0.02, summary: true });
	figures.add({ kind: "result", by: "hook", chars_before: 90_000, chars_after: 16_000 });
	const { text } = await run("--by", "model");
	expect(text).toMatch(/^claude-opus-5-5 +2 +184 020 +40 000 +0\.25 +0\.25 +0\.50$/m);
	expect(text).toMatch(/^all +2 .* 0\.30 +0\.20 +0\.60$/m);
	for (const words of [
		"1 request in neither, since the unedited bill is unknown.",
		"1 ping to keep caches warm, 1 summary of the provider: 0.05",
		"90 000 characters to 16 000",
	])
		expect(text).toContain(words);

	const { all, grouped_by: by } = JSON.parse((await run("--json", "--days", "1")).text);
	expect(all).toMatchObject({ requests: 2, billed: 23_000, usd: 0.25, results: 1, undecided_requests: 1 });
	expect(by).toBe("day");
	expect((await run("--by", "text")).code).toBe(2);
	expect((await run("--days", "0")).code).toBe(2);
});

it("stats shows dollars by subagent, those that cost most", async () => {
	const folder = await scratchFolder();
	const environment = { XDG_STATE_HOME: join(folder, "state") };
	const figures = openFigures({ keep: "all", program: "claude", folder: join(folder, "state/palimpsest/figures") });
	const request = {
		kind: "request",
		input: 10,
		read: 9_000,
		write: 200,
		output: 30,
		left_out: 0,
		billed: 1_150,
	} as const;
	figures.add({ ...request, usd: 3 });
	for (let agent = 1; agent <= 25; agent += 1) figures.add({ ...request, usd: agent / 100, agent: `a${agent}` });
	const run = (...parameters: string[]) => runHere(["stats", ...parameters], { folder, environment });
	const { text } = await run("--by", "agent");
	expect(text).toMatch(/^main agent +1 .* 3\.00 /m);
	expect(text).toMatch(/^subagent a25 +1 .* 0\.25 /m);
	expect(text).not.toMatch(/^subagent a2 /m);
	expect(text).toContain("6 more rows: --json lists all.");
	expect(JSON.parse((await run("--by", "agent", "--json")).text).by).toHaveLength(26);
	expect((await run()).text).toContain("25 requests of subagents: 3.25 US dollars, which count (--by agent).");
});

it("stats --breaks sums why caches broke, with one line of advice where something can be done", async () => {
	const folder = await scratchFolder();
	const environment = { XDG_STATE_HOME: join(folder, "state") };
	const run = (...parameters: string[]) => runHere(["stats", "--breaks", ...parameters], { folder, environment });
	const empty = await run();
	expect(empty).toMatchObject({ code: 0, lines: [] });
	expect(empty.text).toBe("No cache broke in the last 30 days, as far as the proxy has seen.\n");

	const figures = openFigures({ keep: "all", folder: join(folder, "state/palimpsest/figures") });
	for (const servers of [["db"], ["db", "files"], ["db"]])
		figures.add({ kind: "break", cause: "tools", tokens: 40_000, usd: 0.5, servers });
	figures.add({ kind: "break", cause: "earlier_message", tokens: 9_000 });
	figures.add({ kind: "break", cause: "unknown", tokens: 1_000, usd: 0.01 });
	figures.add({ kind: "request", input: 1, read: 0, write: 0, output: 1, left_out: 0, billed: 1 });
	const { text, code } = await run("--days", "1");
	expect(code).toBe(0);
	expect(text).toMatch(/^Cache breaks in the last day$/m);
	expect(text).toMatch(/^tools +3 +120 000 +1\.50 +\d{4}-\d\d-\d\d \d\d:\d\d$/m);
	expect(text).toMatch(/^earlier message +1 +9 000 +– /m);
	expect(text).toMatch(/^all +5 +130 000 +1\.51$/m);
	expect(text).toContain("1 of models without a known price");
	expect(text).toMatch(/^Your MCP server db keeps changing its tool list \(3 times\): .+\.$/m);
	expect(text).toMatch(/^The tools of your MCP server files came, went or changed/m);
	expect(text).toMatch(/^Your program rewrites its own history/m);

	const { causes, days } = JSON.parse((await run("--json")).text);
	expect(days).toBe(30);
	expect(causes.map(({ cause }: { cause: string }) => cause)).toEqual(["tools", "unknown", "earlier_message"]);
	expect(causes[0]).toMatchObject({
		breaks: 3,
		tokens: 120_000,
		usd: 1.5,
		advice: [expect.any(String), expect.any(String)],
	});
	expect(Date.parse(causes[0].last)).toBeGreaterThan(Date.now() - 60_000);
	expect(causes[1].advice).toEqual([]);
	// A break is no request of its own.
	const { all } = JSON.parse((await runHere(["stats", "--json"], { folder, environment })).text);
	expect(all).toMatchObject({ requests: 1, tokens: 1 });
});

it("stats leaves out later days, shows no negative zero, and names a file that it cannot read", async () => {
	const folder = await scratchFolder();
	const [environment, figuresFolder] = [
		{ XDG_STATE_HOME: join(folder, "state") },
		join(folder, "state/palimpsest/figures"),
	];
	const run = (...parameters: string[]) => runHere(["stats", ...parameters], { folder, environment });
	const later = Date.now() + 400 * 24 * 3_600_000;
	const request = { kind: "request", input: 1, read: 0, write: 0, output: 1, left_out: 0, billed: 10 } as const;
	openFigures({ keep: "all", folder: figuresFolder, now: () => later }).add(request);
	expect((await run()).text).toContain("No figures of the last 30 days.");
	openFigures({ keep: "all", folder: figuresFolder }).add({
		...request,
		usd: 0.001,
		usd_unedited: 0.0005,
		held_out: true,
	});
	const { text } = await run("--days", "1000000000000");
	expect(text).toMatch(/: 1 request$/m);
	expect(text).toMatch(/^Held out: 1 request billed 10 tokens each\.$/m);
	expect(text).toMatch(/^all +1 +1 +0 +0\.00 +0\.00 +–$/m);
	await mkdir(join(figuresFolder, "2020-01-01.jsonl"));
	const refused = await run("--days", "10000");
	expect(refused).toMatchObject({ code: 1, lines: [expect.stringContaining("[unreadable_file]")] });
	expect(refused.lines[0]).toContain("2020-01-01.jsonl: it is a folder (EISDIR)");
});

it("stats says how many lines of figures it left out", async () => {
	const folder = await scratchFolder();
	const environment = { XDG_STATE_HOME: join(folder, "state") };
	const figures = join(folder, "state/palimpsest/figures");
	await mkdir(figures, { recursive: true });
	const at = Date.now() - 1_000;
	const ping = JSON.stringify({ at, kind: "ping", program: "claude", billed: 2_300 });
	await writeFile(
		join(figures, `${new Date(at).toISOString().slice(0, 10)}.jsonl`),
		`\n${ping}\n{"at":${at},"kind":"pi\n[]\n${ping}`,
	);
	for (const parameters of [[], ["--json"], ["--breaks"]]) {
		const { code, lines } = await runHere(["stats", ...parameters], { folder, environment });
		expect([code, lines]).toEqual([0, ["palimpsest: left out 2 lines of figures that cannot be read"]]);
	}
});
