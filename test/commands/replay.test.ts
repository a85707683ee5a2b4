import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { loadCounter } from "../../src/tokens/counter.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const figures = [
	"masked_tool_results",
	"tool_chars_before",
	"tool_chars_after",
	"tokens_before",
	"tokens_after",
] as const;
type Figures = Record<(typeof figures)[number], number>;

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "short.json"), JSON.stringify(agentConversation(2)));
	await writeFile(join(folder, "long.json"), JSON.stringify({ messages: agentConversation(11) }));
});

async function replay(...parameters: string[]): Promise<Figures & { files: (Figures & { file: string })[] }> {
	const { code, text, lines } = await runCli(["replay", ...parameters, "--json"], { folder });
	expect([code, lines]).toEqual([0, []]);
	return JSON.parse(text);
}

it("prints the offline figures, in total and per file (docs/specs/observation-masking.md#offline-figures)", async () => {
	const answer = await replay("short.json", "long.json", "--window-turns", "1");
	expect(Object.keys(answer)).toEqual([...figures, "files"]);
	expect(answer.files.map((row) => row.file)).toEqual(["short.json", "long.json"]);
	for (const row of answer.files) expect(Object.keys(row)).toEqual(["file", ...figures]);
	for (const figure of figures) {
		expect(answer[figure]).toBe(answer.files.reduce((sum, row) => sum + row[figure], 0));
	}
	expect(answer.files.map((row) => row.masked_tool_results)).toEqual([1, 10]);
});

it("counts the same as mask prints", async () => {
	const { files } = await replay("long.json", "--window-turns", "4");
	const masked = await runCli(["mask", "long.json", "--set", "mask.window_turns=4"], { folder });
	const countTokens = await loadCounter("o200k_base");
	const [before, after] = [{ messages: agentConversation(11) }, JSON.parse(masked.text)].map((document) => ({
		chars: resultContents(document).reduce<number>((sum, content) => sum + (content as string).length, 0),
		tokens: sumTokens(document, "openai-chat", 4, countTokens),
	}));
	expect(files).toEqual([
		{
			file: "long.json",
			masked_tool_results: 7,
			tool_chars_before: before?.chars,
			tool_chars_after: after?.chars,
			tokens_before: before?.tokens,
			tokens_after: after?.tokens,
		},
	]);
});

it("uses the policy's window by default", async () => {
	expect((await replay("long.json")).masked_tool_results).toBe(3);
	expect((await replay("long.json", "--set", "mask.window_turns=2")).masked_tool_results).toBe(9);
	expect((await replay("long.json", "--window-turns", "0")).masked_tool_results).toBe(0);
});

it("prints a table for people", async () => {
	const { code, text } = await runCli(["replay", "short.json", "long.json", "--window-turns", "1"], { folder });
	expect(code).toBe(0);
	const rows = text.trimEnd().split("\n");
	expect(rows[0]).toMatch(/^file +masked +tool characters +tokens$/);
	expect(rows.slice(1).map((row) => row.split(/ +/).slice(0, 2))).toEqual([
		["short.json", "1"],
		["long.json", "10"],
		["total", "11"],
	]);
	expect(new Set(rows.map((row) => row.length)).size).toBe(1);
});
