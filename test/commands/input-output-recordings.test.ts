import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runCli } from "../support/run-cli.ts";
import { outputOf } from "../support/sample-text.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const messages = openaiMessages(user("Go."), ...["a", "b"].map((id) => toolTurn(id, outputOf(id))));
const body = JSON.stringify({ messages }).replaceAll("'", "''");
const cassette = `---\nversion: 2\ninteractions:\n- request:\n    body: '${body}'\n  response:\n    body: ''\n`;
const stream = `event: values\ndata: ${JSON.stringify({ messages })}\n\nevent: end\ndata: null\n\n`;

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "run.yaml"), cassette);
	await writeFile(join(folder, "run.txt"), stream);
});

describe.each(["run.yaml", "run.txt"])("a recording that is no JSON, %s", (file) => {
	it("is counted, reported and replayed", async () => {
		const [count, report, replay] = await Promise.all([
			runCli(["count", file], { folder }),
			runCli(["report", file, "--json"], { folder }),
			runCli(["replay", file, "--json", "--window-turns", "1"], { folder }),
		]);
		expect([count.code, report.code, replay.code]).toEqual([0, 0, 0]);
		expect(Number(count.text)).toBeGreaterThan(100);
		expect(JSON.parse(replay.text)).toMatchObject({ masked_tool_results: 1 });
	});

	it.each([["mask"], ["guard", "--context-window", "100000"], ["compact"]])("is refused by %s", async (...command) => {
		const { code, text, lines } = await runCli([...command, file, "--archive", "none"], { folder });
		expect([code, text]).toEqual([1, ""]);
		expect(lines.join("\n")).toMatch(/\[read_only\].*recording.*count, report and replay/);
	});
});
