import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";
import { outputOf } from "../support/sample-text.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const messages = openaiMessages(user("Go."), ...["a", "b"].map((id) => toolTurn(id, outputOf(id))));
const body = JSON.stringify({ messages }).replaceAll("'", "''");
const cassette = `---\nversion: 2\ninteractions:\n- request:\n    body: '${body}'\n  response:\n    body: ''\n`;
const stream = `event: values\ndata: ${JSON.stringify({ messages })}\n\nevent: end\ndata: null\n\n`;
const round = (id: string) => ({ response: "", toolCalls: [{ id, name: "look", arguments: "{}" }] });
const metadata = {
	toolCallRounds: [round("a"), round("b")],
	toolCallResults: Object.fromEntries(["a", "b"].map((id) => [id, { content: [{ value: outputOf(id) }] }])),
};
const chatLog = [
	{ kind: 0, v: { version: 3, requests: [] } },
	{ kind: 2, k: ["requests"], v: [{ requestId: "r", message: { text: "Go." }, response: [] }] },
	{ kind: 1, k: ["requests", 0, "result"], v: { metadata } },
].map((record) => `${JSON.stringify(record)}\n`);

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "run.yaml"), cassette);
	await writeFile(join(folder, "run.txt"), stream);
	await writeFile(join(folder, "chat.jsonl"), chatLog.join(""));
});

describe.each(["run.yaml", "run.txt", "chat.jsonl"])("a recording, %s", (file) => {
	it("is counted, reported and replayed", async () => {
		const [count, report, replay] = await Promise.all([
			runHere(["count", file], { folder }),
			runHere(["report", file, "--json"], { folder }),
			runHere(["replay", file, "--json", "--window-turns", "1"], { folder }),
		]);
		expect([count.code, report.code, replay.code]).toEqual([0, 0, 0]);
		expect(Number(count.text)).toBeGreaterThan(100);
		expect(JSON.parse(replay.text)).toMatchObject({ masked_tool_results: 1 });
	});

	it.each([["mask"], ["guard", "--context-window", "100000"], ["compact"]])("is refused by %s", async (...command) => {
		const { code, text, lines } = await runHere([...command, file, "--archive", "none"], { folder });
		expect([code, text]).toEqual([1, ""]);
		expect(lines.join("\n")).toMatch(/\[read_only\].*recording.*count, report and replay/);
	});
});

it("counts Aider's chat history, and refuses to edit it", async () => {
	await writeFile(
		join(folder, "history.md"),
		`\n# aider chat started at 2026-01-02 03:04:05\n\n#### Go.\n\n${outputOf("a")}\n`,
	);
	const [count, mask] = await Promise.all([
		runHere(["count", "history.md"], { folder }),
		runHere(["mask", "history.md", "--archive", "none"], { folder }),
	]);
	expect([count.code, Number(count.text) > 100, mask.code]).toEqual([0, true, 1]);
	expect(mask.lines.join("\n")).toMatch(/\[read_only\].*Aider chat history/);
});
