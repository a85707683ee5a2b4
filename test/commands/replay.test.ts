import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { reasoningSession } from "../support/reasoning-session.ts";
import { runHere } from "../support/run-here.ts";
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
	const { code, text, lines } = await runHere(["replay", ...parameters, "--json"], { folder });
	expect([code, lines]).toEqual([0, []]);
	return JSON.parse(text);
}

it("prints the offline figures, in total and per file (docs/measure.md#offline-figures)", async () => {
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
	const masked = await runHere(["mask", "long.json", "--set", "mask.window_turns=4"], { folder });
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
	const { code, text } = await runHere(["replay", "short.json", "long.json", "--window-turns", "1"], { folder });
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

it("prices each session by its own model, and says how where that is unknown", async () => {
	const messages = agentConversation(11);
	await writeFile(join(folder, "haiku.json"), JSON.stringify({ model: "claude-haiku-5-5", messages }));
	await writeFile(join(folder, "sonnet.json"), JSON.stringify({ model: "claude-sonnet-5-5", messages }));
	const replayed = async (...parameters: string[]) =>
		runHere(["replay", ...parameters, "--policies", "raw,window:2"], { folder });
	const known = JSON.parse((await replayed("haiku.json", "sonnet.json", "--json")).text);
	expect(known.billed_in).toBe("us_dollars");
	expect(known.files.map(({ model }: { model: string }) => model)).toEqual(["claude-haiku-5.5", "claude-sonnet-5.5"]);
	const [haiku, sonnet] = known.files.map(({ policies }: typeof known) => policies[0].billed);
	expect(sonnet / haiku).toBeGreaterThan(10);
	expect(known.policies[0].billed).toBeCloseTo(haiku + sonnet, 9);
	expect(known.policies[0].ratio_to_raw).toBe(1);

	const { text } = await replayed("haiku.json", "long.json");
	expect(text).toContain("since some dollars are unknown");
	expect(text).toMatch(/^ {2}1 × claude-haiku-5\.5: /m);
	expect(text).toMatch(/^ {2}1 × unknown model, by \[prices\]: read 0\.1,/m);
	expect((await replayed("haiku.json", "long.json", "--model", "claude-opus-5-5")).text).not.toContain("haiku-5.5:");
});

it("compares several models on the same sessions", async () => {
	const models = ["--model", "claude-opus-5.5,claude-opus-5", "--policies", "raw,window:2"];
	const { text } = await runHere(["replay", "long.json", ...models], { folder });
	expect(text.match(/^claude-opus-.*?: read 0\.\d+/gm)).toEqual([
		"claude-opus-5.5: read 0.05",
		"claude-opus-5, priced as claude-opus-4.8: read 0.1",
	]);
	expect(text.match(/^window:2 /gm)).toHaveLength(2);
	const asked = await runHere(["replay", "long.json", ...models, "--json"], { folder });
	expect(JSON.parse(asked.text).models).toMatchObject([
		{ model: "claude-opus-5.5", billed_in: "us_dollars" },
		{ model: "claude-opus-5", prices: [{ model: "claude-opus-4.8" }] },
	]);
	const page = await runHere(["replay", "long.json", ...models, "--html", "page.html"], { folder });
	expect([page.code, page.lines.join()]).toEqual([1, expect.stringContaining("name one with --model")]);
});

it("shows and bills the reasoning that masking makes invalid, for a model that binds it", async () => {
	const turns = Array.from({ length: 12 }, (_, turn) => ({ thinking: 2_000, output: 6_000, asks: turn === 5 }));
	const messages = reasoningSession(turns);
	await writeFile(join(folder, "bound.json"), JSON.stringify({ model: "claude-opus-5-5", messages }));
	await writeFile(join(folder, "free.json"), JSON.stringify({ model: "claude-opus-5", messages }));
	const replayed = async (...parameters: string[]) => {
		const policies = ["--policies", "raw,window:2", "--prices", "0.05,1.25"];
		return runHere(["replay", ...parameters, ...policies], { folder });
	};
	const { text } = await replayed("bound.json", "--json", "--set", "prices.thinking_redone=0.5");
	const [raw, window] = JSON.parse(text).policies;
	expect(raw.reasoning).toMatchObject({ left_out_tokens: 0, left_out_share: 0, redone_tokens: 0 });
	expect(window.reasoning.left_out_tokens).toBeGreaterThan(900);
	expect(window.reasoning.left_out_share).toBeCloseTo(window.reasoning.left_out_tokens / raw.reasoning.recorded_tokens);
	expect(window.reasoning.redone_tokens).toBeGreaterThan(0);
	const dear = JSON.parse((await replayed("bound.json", "--json", "--set", "prices.thinking_redone=1")).text).policies;
	expect(dear[1].billed).toBeGreaterThan(window.billed);
	expect(dear[0].billed).toBe(raw.billed);

	const free = JSON.parse((await replayed("free.json", "--json")).text).policies;
	expect(free[1]).not.toHaveProperty("reasoning");
	const named = JSON.parse((await replayed("free.json", "--json", "--model", "claude-fable-5-2")).text).policies;
	expect(named[1].reasoning.left_out_tokens).toBeGreaterThan(900);
	expect((await replayed("free.json", "--all")).text).not.toContain("reasoning");
	const shown = (await replayed("bound.json", "--all")).text;
	expect(shown).toMatch(/reasoning +produced\n.*left out +share +again\n/);
	expect(shown).toContain("reasoning: bound to earlier messages");
});
