import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const start = Date.UTC(2026, 0, 1);

/** A rollout of Codex: what the provider read of each call, and the minutes before each turn. */
function rollout(
	turns: readonly {
		readonly input: number;
		readonly read: number;
		readonly minutes: number;
		readonly effort?: string;
	}[],
	said = "Done.",
	model = "gpt-5",
) {
	let time = start;
	let total = 0;
	const record = (type: string, payload: object) => ({ timestamp: new Date(time).toISOString(), type, payload });
	return [
		record("session_meta", { id: "one", base_instructions: { text: "You are an agent." } }),
		...turns.flatMap(({ input, read, minutes, effort = "high" }, turn) => {
			time += minutes * 60_000;
			total += input;
			const text = (type: string, role: string, words: string) =>
				record("response_item", { type: "message", role, content: [{ type, text: words }] });
			return [
				record("event_msg", { type: "task_started" }),
				record("turn_context", { model, effort }),
				text("input_text", "user", `Task ${turn}.`),
				text("output_text", "assistant", said),
				record("event_msg", {
					type: "token_count",
					info: {
						last_token_usage: { input_tokens: input, cached_input_tokens: read },
						total_token_usage: { total_tokens: total },
					},
				}),
			];
		}),
	];
}

it("replay --breaks attributes each call of a recorded session that read less from the cache", async () => {
	const folder = await scratchFolder();
	const turns = [
		{ input: 20_000, read: 2_432, minutes: 0 },
		{ input: 22_000, read: 19_968, minutes: 1 },
		{ input: 24_000, read: 2_432, minutes: 90 },
		{ input: 26_000, read: 23_936, minutes: 1 },
		{ input: 28_000, read: 2_432, minutes: 1, effort: "low" },
		{ input: 30_000, read: 27_904, minutes: 1, effort: "low" },
		{ input: 32_000, read: 2_432, minutes: 1, effort: "low" },
	];
	await writeFile(
		join(folder, "rollout.jsonl"),
		rollout(turns)
			.map((one) => JSON.stringify(one))
			.join("\n"),
	);
	await writeFile(join(folder, "plain.json"), JSON.stringify(agentConversation(3)));
	const run = (...parameters: string[]) => runHere(["replay", folder, "--breaks", ...parameters], { folder });
	const { text, code, lines } = await run("--files");
	expect([code, lines]).toEqual([0, ["palimpsest: left out 1 conversation without tokens read from a cache"]]);
	expect(text).toMatch(/^codex-rollout +1 +7 +3 +67 %$/m);
	expect(text).toMatch(/^pause +1 +19 568 +0\.02$/m);
	expect(text).toMatch(/^all +3 +70 /m);
	expect(text).toMatch(/^call 3 +pause .* 90 min since the call before; the cache lasts 5 min$/m);
	expect(text).toMatch(/^call 5 +effort .* effort: high → low$/m);
	expect(text).toMatch(/^call 7 +unknown .* at a message of the user: /m);
	expect(text).toMatch(/^Set the effort/m);

	const report = JSON.parse((await run("--json")).text);
	expect(report).toMatchObject({
		sessions: 1,
		calls: 7,
		breaks: 3,
		unknown: 1,
		attributed_share: expect.closeTo(2 / 3),
	});
	expect(report.causes.map(({ cause }: { cause: string }) => cause).sort()).toEqual(["effort", "pause", "unknown"]);
	expect(report.files[0].breaks[0]).toMatchObject({ call: 3, cause: "pause", tokens: 19_568, usd: expect.any(Number) });
	expect(JSON.stringify(report)).not.toContain("Task");
});

it("replay --breaks refuses files in which no tokens were read from a cache", async () => {
	const folder = await scratchFolder();
	await writeFile(join(folder, "plain.json"), JSON.stringify(agentConversation(3)));
	const { code, lines } = await runHere(["replay", "plain.json", "--breaks"], { folder });
	expect(code).not.toBe(0);
	expect(lines.join("\n")).toContain("No conversation with cache reads: left out 1 conversation without");
});

it("replay --breaks counts the calls that a fork copied from its session once", async () => {
	const folder = await scratchFolder();
	const parent = [
		{ input: 20_000, read: 2_432, minutes: 0 },
		{ input: 22_000, read: 19_968, minutes: 1 },
		{ input: 24_000, read: 2_432, minutes: 90 },
	];
	const fork = [...parent, { input: 26_000, read: 1_920, minutes: 90 }, { input: 28_000, read: 25_984, minutes: 1 }];
	for (const [name, turns] of Object.entries({ "1-fork": fork, "2-parent": parent, "3-fork-again": fork })) {
		const records = rollout(turns, "All parts are built, and none fails. ".repeat(8));
		await writeFile(join(folder, `${name}.jsonl`), records.map((one) => JSON.stringify(one)).join("\n"));
	}
	const { text, code, lines } = await runHere(["replay", folder, "--breaks"], { folder });
	expect([code, lines]).toEqual([0, ["palimpsest: left out 8 calls that another file has too"]]);
	expect(text).toMatch(/^codex-rollout +1 +5 +2 +100 %$/m);
});

it("replay --breaks blames no program for messages that a proxy may have masked", async () => {
	const folder = await scratchFolder();
	const turns = [
		{ input: 20_000, read: 2_432, minutes: 0 },
		{ input: 30_000, read: 19_968, minutes: 1 },
		{ input: 22_000, read: 2_432, minutes: 1 },
	];
	const lines = rollout(turns, "Done.", "claude-opus-4-8").map((one) => JSON.stringify(one));
	await writeFile(join(folder, "rollout.jsonl"), lines.join("\n"));
	const { text } = await runHere(["replay", "--breaks", "rollout.jsonl"], { folder });
	expect(text.replace(/\s+/g, " ")).toContain(
		"a proxy (such as `palimpsest launch`) masked them, or the program trimmed",
	);
	expect(text).not.toContain("Your program rewrites");

	const { figuresFolder } = await import("../../src/storage/figures/store.ts");
	const line = { at: start, kind: "request", output: 5, left_out: 9_000, billed: 22_000 };
	const request = { ...line, input: 570, read: 2_432, write: 18_998 };
	await mkdir(join(folder, relative(homedir(), figuresFolder())), { recursive: true });
	for (const [decisions, cause] of [
		[0, "earlier_message"],
		[3, "masking"],
	]) {
		const file = join(folder, relative(homedir(), figuresFolder()), "2026-01-01.jsonl");
		await writeFile(file, JSON.stringify({ ...request, decisions }));
		const json = (await runHere(["replay", "--breaks", "rollout.jsonl", "--json"], { folder })).text;
		expect(JSON.parse(json).causes).toMatchObject([{ cause, breaks: 1 }]);
	}
	const ours = await runHere(["replay", "--breaks", "rollout.jsonl", "--files"], { folder });
	expect(ours.text).toMatch(/^call 3 +masking .* our proxy sent results in another form from here on$/m);
	expect(ours.text).not.toContain("or the program trimmed");
});
