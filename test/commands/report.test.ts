import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { reportContext } from "../../src/operations/report.ts";
import { contextText } from "../../src/operations/report-text.ts";
import { workingConversation } from "../operations/working-conversation.ts";
import { readPage } from "../pages/read-page.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const conversation = workingConversation();

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "chat.json"), JSON.stringify(conversation));
});

const report = (...parameters: string[]) => runHere(["report", ...parameters], { folder });

describe("palimpsest report", () => {
	it("prints the same as the library, as text and as JSON", async () => {
		const own = await reportContext({ conversation, layers: [], model: "gpt-4o", originals: "not_archived" });
		const json = await report("chat.json", "--model", "gpt-4o", "--json");
		expect([json.code, json.lines]).toEqual([0, []]);
		expect(JSON.parse(json.text)).toEqual(JSON.parse(JSON.stringify(own)));
		const { text, code, lines } = await report("chat.json", "--model", "gpt-4o");
		expect([code, lines]).toEqual([0, []]);
		expect(text).toBe(contextText(own, { columns: 80, bars: "ascii" }));
		// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal takes for a command
		expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
	});

	it("names the tools that the last sessions never called, and how to leave one out", async () => {
		const figures = join(folder, ".local/state/palimpsest/figures");
		await mkdir(figures, { recursive: true });
		const at = Date.now() - 1_000;
		const offered = { Bash: 1_000, NotebookEdit: 1_234, Read: 500 };
		const line = { at, program: "claude", session: "s" };
		const request = { kind: "request", model: "claude-opus-5-5", read: 9_000, write: 9, output: 9, billed: 9 };
		const lines = [
			{ ...line, kind: "tools", offered, called: ["Bash"] },
			{ ...line, ...request },
		];
		const file = join(figures, `${new Date(at).toISOString().slice(0, 10)}.jsonl`);
		await writeFile(file, lines.map((one) => JSON.stringify(one)).join("\n"));
		const { text } = await report("chat.json");
		expect(text).toContain(
			"Claude Code, last 1 session: 2 of 3 tools never called, 1 734 tokens in each request, 0.00 US dollars a day",
		);
		expect(text).toContain("NotebookEdit (1 234), Read (500)");
		expect(text).toContain("claude --disallowedTools NAME");
		const json = JSON.parse((await report("chat.json", "--json")).text);
		expect(json.unused_tools).toMatchObject([{ program: "claude", sessions: 1, tokens: 1_734 }]);
	});

	it("counts placeholders with a reference when originals are kept", async () => {
		const freedBy = async (environment: Record<string, string>) => {
			const { text } = await runHere(["report", "chat.json", "--json"], { folder, environment });
			return JSON.parse(text).presets[1].freed_tokens as number;
		};
		const [kept, gone] = [
			await freedBy({ PALIMPSEST_ARCHIVE: "memory" }),
			await freedBy({ PALIMPSEST_ARCHIVE: "none" }),
		];
		expect(gone).toBeGreaterThan(kept);
		expect(kept).toBeGreaterThan(0);
	});

	it("accepts window, reserve and settings, and reads standard input", async () => {
		const input = JSON.stringify(conversation);
		const given = [
			"-",
			"--context-window",
			"9000",
			"--reserve-tokens",
			"500",
			"--set",
			"guard.budget_ratio=0.5",
			"--json",
		];
		const { text } = await runHere(["report", ...given], { folder, input });
		expect(JSON.parse(text)).toMatchObject({ context_window: 9_000, budget_tokens: 4_000 });
	});

	it("writes a page with the same figures", async () => {
		await writeFile(join(folder, "report.html"), "before");
		const { code, text } = await report("chat.json", "--context-window", "12000", "--html", "report.html", "--json");
		expect(code).toBe(0);
		const { data, policy } = readPage(await readFile(join(folder, "report.html"), "utf8"));
		expect(data).toEqual(JSON.parse(text));
		expect(policy).toMatch(/^default-src 'none'/);
		const failed = await report("chat.json", "--html", join("nowhere", "report.html"));
		expect(failed).toMatchObject({ code: 1, text: "" });
		expect(failed.lines.join()).toMatch(/unwritable_file.*there is no such file or folder/);
	});

	it("refuses unreadable input without quoting it", async () => {
		await writeFile(join(folder, "odd.json"), JSON.stringify({ note: secret }));
		for (const [file, message] of [
			["odd.json", /not_a_conversation/],
			["absent.json", /unreadable_file/],
		] as const) {
			const { code, text, lines } = await report(file);
			expect([code, text]).toEqual([1, ""]);
			expect(lines.join()).toMatch(message);
			expect(lines.join()).not.toContain(secret);
		}
		await writeFile(join(folder, "secret.json"), JSON.stringify(agentConversation(12)));
		expect((await report("secret.json", "--context-window", "20000")).text).not.toContain(secret);
	});
});
