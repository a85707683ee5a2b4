import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { PolicyFigures, ReplayReport } from "../../src/engine/replaying/report.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { turnsOf } from "../support/replay-history.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeAll(async () => {
	folder = await scratchFolder();
	await mkdir(join(folder, "sessions/project/empty"), { recursive: true });
	await writeFile(join(folder, "chat.json"), JSON.stringify(agentConversation(14)));
	await writeFile(join(folder, "sessions/project/night.jsonl"), claudeCodeSession(25));
	await writeFile(join(folder, "sessions/a.json"), JSON.stringify({ messages: agentConversation(3) }));
	await writeFile(join(folder, "sessions/settings.json"), '{"theme": "dark"}');
	await writeFile(join(folder, "sessions/broken.jsonl"), `{"type": ${secret}`);
	await writeFile(join(folder, "sessions/notes.md"), "no conversation either");
	await writeFile(join(folder, "my.toml"), "[mask]\nwindow_turns = 2\nkeep_errors = false\n");
	const outputs = Array.from({ length: 8 }, (_, turn) => `src/part-${turn}.ts\n${"words of a file ".repeat(100)}`);
	const said = outputs.map((_, turn) => (turn === 6 ? "I go back to src/part-0.ts" : "On."));
	await writeFile(join(folder, "uses.json"), JSON.stringify(turnsOf(outputs, said)));
	await mkdir(join(folder, "nothing"));
	await writeFile(join(folder, "nothing/settings.json"), "{}");
});

const run = (...parameters: string[]) => runHere(["replay", ...parameters], { folder });
async function json(...parameters: string[]): Promise<{ report: ReplayReport; lines: readonly string[] }> {
	const { code, text, lines } = await run(...parameters, "--json");
	expect(code).toBe(0);
	expect(text).not.toContain(secret);
	return { report: JSON.parse(text), lines };
}

const number = expect.any(Number);
const share = expect.toSatisfy((value: unknown) => value === null || (Number(value) >= 0 && Number(value) <= 1));
const shares = { identifiers: share, lines: share };
const shape = (policy: string) => ({
	policy,
	conversations: number,
	llm_calls: number,
	input_tokens: number,
	cached_tokens: number,
	output_tokens: number,
	billed: number,
	ratio_to_raw: number,
	worst_ratio_to_raw: number,
	faults_per_100_calls: number,
	billed_with_faults: number,
	ratio_with_faults: number,
	bound_with_faults: expect.toSatisfy((value: unknown) => Number(value) > 0 && Number(value) <= 1),
	worst_ratio_with_faults: number,
	fault_cost_to_raw: number,
	billed_output: number,
	ratio_with_output: number,
	output_share: share,
	average_context_ratio: number,
	peak_context_tokens: number,
	calls_over_window: number,
	calls_of_known_window: number,
	masked_tool_results: number,
	recall: shares,
	recall_in_digests: shares,
	repeated_tokens: number,
});
const rivals = ["clear:30000:3:20000", "last:5:10", "opencode"];
const defaults = ["raw", "window:8", "stride:10", "break_even:8", "balanced", ...rivals];
const named = (policies: readonly PolicyFigures[], name: string) => policies.find(({ policy }) => policy === name);

describe.concurrent("replay", () => {
	it("prints every figure as JSON: over all files, file by file, and the offline figures", async () => {
		const { report, lines } = await json("chat.json", "sessions/project/night.jsonl");
		expect(lines).toEqual([]);
		const figures = ["masked_tool_results", "tool_chars_before", "tool_chars_after", "tokens_before", "tokens_after"];
		expect(Object.keys(report)).toEqual([...figures, "billed_in", "prices", "policies", "files"]);
		expect(report.policies).toEqual(defaults.map(shape));
		expect(report.files.map(({ file }) => file)).toEqual(["chat.json", "sessions/project/night.jsonl"]);
		for (const one of report.files) {
			expect(Object.keys(one)).toEqual(["file", ...figures, "model", "policies"]);
			expect(one.policies).toEqual(defaults.map(shape));
		}
		expect(named(report.policies, "raw")).toMatchObject({ ratio_to_raw: 1, masked_tool_results: 0, llm_calls: 39 });
		expect(named(report.policies, "window:8")?.ratio_to_raw).toBeGreaterThan(1.2);
		expect(named(report.policies, "window:8")?.masked_tool_results).toBe(6 + 17);
	});

	it("reads a Claude Code session with the window of its model", async () => {
		const { report } = await json("sessions/project/night.jsonl", "--policies", "raw,window:2");
		expect(report.policies[0]).toMatchObject({ llm_calls: 25, calls_of_known_window: 25, calls_over_window: 0 });
		expect(report.policies[1]?.masked_tool_results).toBe(23);
		const small = await json("sessions/project/night.jsonl", "--policies", "raw,window:2", "--context-window", "9000");
		const [raw, window] = small.report.policies.map((one) => one.calls_over_window);
		expect(raw).toBeGreaterThan(5);
		expect(window).toBe(0);
	});

	it("reads a folder recursively and counts the files without a conversation", async () => {
		const { report, lines } = await json("sessions", "--policies", "raw");
		expect(report.files.map(({ file }) => file)).toEqual([
			join("sessions", "a.json"),
			join("sessions", "project", "night.jsonl"),
		]);
		expect(lines).toEqual(["palimpsest: left out 2 files that cannot be read as a conversation"]);
		const long = await json("sessions", "--policies", "raw", "--min-turns", "20");
		expect(long.report.files.map(({ file }) => file)).toEqual([join("sessions", "project", "night.jsonl")]);
		expect(long.lines).toEqual([
			"palimpsest: left out 2 files that cannot be read as a conversation, 1 conversation of too few tool turns",
		]);
	});

	it("prints a table for people", async () => {
		const { code, text, lines } = await run("chat.json", "--policies", "window:8,./my.toml,balanced:low", "--all");
		expect([code, lines]).toEqual([0, []]);
		const [sentence, , ...rows] = text.split("\n");
		expect(sentence).toMatch(
			/^With balanced:low the input of this session would have cost \d+ % less; 0\.00 of 100 calls/,
		);
		expect(rows[0]).toBe("chat.json, 14 LLM calls");
		expect(rows[3]).toMatch(/^policy +billed +× raw +worst +in 100 +faults +least +worst +output +share$/);
		expect(rows.slice(4, 7).map((row) => row.split(" ")[0])).toEqual(["window:8", "./my.toml", "balanced:low"]);
		expect(rows[9]).toMatch(/^ +× raw +peak +window +masked +identifiers +lines +digests$/);
		expect(rows.slice(10, 13).map((row) => row.split(" ")[0])).toEqual(["window:8", "./my.toml", "balanced:low"]);
		expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(120);
		expect((text.match(/^policy /gm) ?? []).length).toBe(1);
	});

	it("reads standard input, uses given prices, and masks by a policy file", async () => {
		const input = JSON.stringify(agentConversation(14));
		const parameters = ["replay", "-", "--json", "--policies", "raw,my.toml", "--prices", "1,1"];
		const { text } = await runHere(parameters, { folder, input });
		const [raw, mine] = (JSON.parse(text) as ReplayReport).policies;
		expect(raw?.billed).toBe(raw?.input_tokens);
		expect(mine?.billed).toBe(mine?.input_tokens);
		expect(mine?.masked_tool_results).toBe(12);
	});

	it("bills in dollars at a model's prices", async () => {
		const { report } = await json("chat.json", "--policies", "raw", "--model", "gpt-4o");
		const [raw] = report.policies;
		const { input_tokens = 0, cached_tokens = 0 } = raw ?? {};
		expect(raw?.billed).toBeCloseTo((cached_tokens * 1.25 + (input_tokens - cached_tokens) * 2.5) / 1e6, 9);
		expect((await run("chat.json", "--model", "gpt-4o")).text).toMatch(/^raw +\$\d/m);
	});

	it("bills faults and output at the prices that are given", async () => {
		const at = async (...parameters: string[]) =>
			(await json("uses.json", "--policies", "raw,last:1:1", ...parameters)).report.policies;
		const [raw, last] = await at();
		const [, dear] = await at("--set", "prices.fault=3");
		expect(raw).toMatchObject({ faults_per_100_calls: 0, ratio_with_faults: 1, ratio_with_output: 1 });
		expect(raw?.billed_output).toBeCloseTo(5 * (raw?.output_tokens ?? 0), 6);
		expect(last?.faults_per_100_calls).toBe(100 / 8);
		expect((dear?.ratio_with_faults ?? 0) - (dear?.ratio_to_raw ?? 0)).toBeCloseTo(
			3 * (last?.fault_cost_to_raw ?? 0),
			9,
		);
		const [asked] = await at("--prices", "0.1,1.25,8");
		expect(asked?.billed_output).toBeCloseTo(8 * (raw?.output_tokens ?? 0), 6);
		const [dollars] = await at("--model", "gpt-4o");
		expect(dollars?.billed_output).toBeCloseTo((10 * (dollars?.output_tokens ?? 0)) / 1e6, 9);
	});

	it("prints only the offline figures when only --window-turns is given", async () => {
		const alone = await json("chat.json", "--window-turns", "1");
		expect(alone.report).not.toHaveProperty("policies");
		const both = await json("chat.json", "--window-turns", "1", "--policies", "window:1");
		expect(both.report.masked_tool_results).toBe(13);
		expect(both.report.policies[0]?.masked_tool_results).toBe(13);
	});

	it("writes one page with the figures and no text of the conversation", async () => {
		const { code, text, lines } = await run("sessions", "chat.json", "--html", "page.html");
		expect(code).toBe(0);
		expect(text).toMatch(/^With balanced .*\n\n3 conversations, /);
		expect(lines).toHaveLength(1);
		const page = await readFile(join(folder, "page.html"), "utf8");
		for (const word of ["<!doctype html>", "night.jsonl", "break_even:8", "</html>"]) {
			expect(page.toLowerCase()).toContain(word);
		}
		expect(page).not.toContain(secret);
		expect(page).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
	});
});

describe.concurrent("a refused replay prints one line and no partial output", () => {
	it.each<[string, string[], RegExp]>([
		["a mistyped policy", ["chat.json", "--policies", "raw,windo:8"], /^\[invalid_argument\] .*mean window:8\?/],
		["a policy without its number", ["chat.json", "--policies", "stride"], /^\[invalid_argument\] .*stride:10/],
		["a missing policy file", ["chat.json", "--policies", "no.toml"], /^\[unreadable_file\] .*no\.toml/],
		["half a price", ["chat.json", "--prices", "0.1"], /^\[invalid_argument\] Expected prices as READ,WRITE/],
		["a model without prices", ["chat.json", "--model", "nope-9"], /^\[invalid_argument\] .*"nope-9".*--prices/],
		["a named file that is broken", ["chat.json", "sessions/broken.jsonl"], /^\[invalid_json\] .*broken\.jsonl/],
		["a named file without messages", ["chat.json", "sessions/settings.json"], /^\[not_a_conversation\] sessions\/set/],
		["a missing file", ["chat.json", "absent"], /^\[unreadable_file\] .*absent: there is no such file/],
		["a folder of nothing", ["nothing"], /^\[invalid_argument\] No conversation .*1 file that cannot be read/],
		["an empty folder", ["sessions/project/empty"], /^\[invalid_argument\] .*no \.json or \.jsonl file/],
		[
			"a page in no folder",
			["chat.json", "--html", "no/page.html"],
			/^\[unwritable_file\] .*no\/page\.html: there is no such/,
		],
	])("%s", async (_what, parameters, words) => {
		const { code, text, lines } = await run(...parameters);
		expect([code, text]).toEqual([1, ""]);
		expect(lines).toEqual([expect.stringMatching(/^palimpsest: \[/)]);
		expect(lines[0]?.slice("palimpsest: ".length)).toMatch(words);
		expect(lines[0]).not.toContain(secret);
		await expect(stat(join(folder, "no"))).rejects.toMatchObject({ code: "ENOENT" });
	});
});
