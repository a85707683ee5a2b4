import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readWords } from "../../src/engine/compaction/kept-words.ts";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import { answerCompaction } from "../../src/hosts/after-compaction.ts";
import type { HookShell } from "../../src/hosts/hook-answers.ts";
import { hookContext } from "../../src/hosts/shorten-result.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { compactedEvent, logOf } from "../support/hook-events.ts";
import { runCli } from "../support/run-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
let transcript: string;
let archive: Archive;
let shell: HookShell;
beforeEach(async () => {
	folder = await scratchFolder();
	transcript = join(folder, "session.jsonl");
	archive = (await openArchive({ where: "memory" })) as Archive;
	const policy = resolvePolicy([{ locale: "en" }]);
	shell = { policy, wholePolicy: async () => policy, archive, command: "palimpsest" };
});

type Json = Readonly<Record<string, unknown>>;

const said = (content: unknown, more: Json = {}): Json => ({
	type: "user",
	message: { role: "user", content },
	...more,
});
const called = (id: string, command: string): Json => ({
	type: "assistant",
	message: { role: "assistant", content: [{ type: "tool_use", id, name: "Bash", input: { command } }] },
});
const answered = (id: string, content: unknown): Json => said([{ type: "tool_result", tool_use_id: id, content }]);

const write = (...records: readonly Json[]) =>
	writeFile(transcript, records.map((record) => `${JSON.stringify(record)}\n`).join(""));

async function given(): Promise<string> {
	const { hookSpecificOutput } = (await answerCompaction(JSON.parse(compactedEvent(transcript)), shell)) ?? {};
	const { hookEventName, additionalContext } = hookSpecificOutput as Readonly<Record<string, string>>;
	expect(hookEventName).toBe("SessionStart");
	return additionalContext ?? "";
}

const wordsIn = (text: string) => readWords(text)?.texts;

describe("after a compaction of Claude Code", () => {
	it("gives back people's own words, and nothing that the host wrote in their name", async () => {
		await write(
			said("Fix the build.\nNever touch the lock file."),
			answered("a", "output"),
			said("meta", { isMeta: true }),
			said("the earlier summary", { isCompactSummary: true }),
			said("of a sub-agent", { isSidechain: true }),
			said(
				"<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>",
			),
			said("<local-command-stdout>Compacted</local-command-stdout>"),
			said([{ type: "text", text: "<system-reminder>x</system-reminder>Go on." }]),
			{ type: "attachment", attachment: { type: "queued_command", commandMode: "prompt", prompt: "Wait for me." } },
			{ type: "attachment", attachment: { type: "queued_command", commandMode: "task-notification", prompt: "x" } },
		);
		expect(wordsIn(await given())).toEqual(["Fix the build.\nNever touch the lock file.", "Go on.", "Wait for me."]);
	});

	it("gives back people's answers to a tool", async () => {
		const asked = { type: "tool_use", id: "q", name: "AskUserQuestion", input: { questions: [] } };
		await write(
			said("Fix the build."),
			{ type: "assistant", message: { role: "assistant", content: [asked] } },
			answered("q", 'User has answered: "Which?"="The small one."'),
			answered("a", "output"),
		);
		expect(wordsIn(await given())).toEqual(["Fix the build.", 'User has answered: "Which?"="The small one."']);
	});

	it("names the largest originals that were archived on arrival, which are recalled whole", async () => {
		const records = [said("Run them all.")];
		const logs = Array.from({ length: 7 }, (_, at) => logOf(1_000 + 200 * at, { 500: `mark ${at}` }));
		for (const [at, log] of logs.entries()) {
			const input = { command: `test ${at}` };
			const event = { toolName: "Bash", toolCallId: `toolu_${at}`, input, response: {} };
			const shown = await hookContext({ ...shell, event }).shorten(log, 16_000);
			records.push(called(`toolu_${at}`, `test ${at}`), answered(`toolu_${at}`, shown));
		}
		await write(...records);
		const text = await given();
		const named = Array.from(text.matchAll(/^- Bash, test (\d) \((\d+) characters\): .* recall (\w+)$/gm));
		expect(named.map(([, at]) => Number(at))).toEqual([2, 3, 4, 5, 6]);
		expect(named.map(([, , chars]) => Number(chars))).toEqual(logs.slice(2).map(({ length }) => length));
		const [, , , ref = ""] = named[0] ?? [];
		expect((await archive.get(ref)).text).toBe(logs[2]);
	});

	it("stays within the host's limit: rules and the newest texts first, and the rest can be recalled", async () => {
		const filler = (at: number) => `Note ${at}: ${"and so on, as before ".repeat(20)}`;
		const texts = Array.from({ length: 60 }, (_, at) =>
			at === 9 ? `${filler(at)}\nNever rename a column.` : filler(at),
		);
		await write(...texts.map((text) => said(text.trim())), said("x".repeat(12_000)));
		const text = await given();
		expect(text.length).toBeLessThanOrEqual(10_000);
		const words = wordsIn(text) ?? [];
		expect(words[0]).toBe(texts[0]?.trim());
		expect(words).toContain(texts[9]?.trim());
		expect(words).toContain(texts[59]?.trim());
		expect(words).not.toContain(texts[1]?.trim());
		const [, ref = ""] = /of the user's 61 texts are cut or left out\. All of them: .* recall (\w+)/.exec(text) ?? [];
		expect((await archive.get(ref)).text).toContain("x".repeat(12_000));
	});

	it("says nothing for another start, an unreadable transcript, one without words, or where a mod has kept the words", async () => {
		const hook = (input: string, PALIMPSEST_MOD = "1") =>
			runCli(["hook", "claude-code"], { folder, input, environment: { PALIMPSEST_MOD } });
		await write(answered("a", "output"));
		expect(await answerCompaction(JSON.parse(compactedEvent(transcript)), shell)).toBeUndefined();
		await write(said("Go on."));
		expect(await hook(compactedEvent(transcript, "resume"))).toMatchObject({ code: 0, text: "", lines: [] });
		expect((await hook(compactedEvent(transcript))).text).toContain("Go on.");
		expect((await hook(compactedEvent(transcript), "masked")).text).toBe("");
		const { code, text, lines } = await hook(compactedEvent(join(folder, "absent.jsonl")));
		expect([code, text, lines.length]).toEqual([0, "", 1]);
	});
});
