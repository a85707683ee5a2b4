import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const session = claudeCodeSession(20);

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "session.jsonl"), session);
});

const rescue = (...parameters: string[]) =>
	runHere(["rescue", "session.jsonl", "--archive", join(folder, "archive"), ...parameters], { folder });
const sessionsIn = async () => (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));

describe("palimpsest rescue", () => {
	it("writes a session that fits next to the old one, and prints only the command that resumes it", async () => {
		const { code, text, lines } = await rescue("--context-window", "16000", "--set", "log_level=error");
		expect([code, lines.length]).toEqual([0, 2]);
		const id = /^claude --resume ([0-9a-f-]{36})\n$/.exec(text)?.[1];
		expect(await sessionsIn()).toEqual([`${id}.jsonl`, "session.jsonl"].sort());
		expect(await readFile(join(folder, "session.jsonl"), "utf8")).toBe(session);
		const written = await readFile(join(folder, `${id}.jsonl`), "utf8");
		const { value } = readTextDocument(written, "it");
		expect((value as { sessionId: string }[]).every(({ sessionId }) => sessionId === id)).toBe(true);
		expect(readConversation(value).transcript.messages).toHaveLength(41);
		expect(lines[1]).toMatch(
			/results masked: \d+: \d+ → \d+ tokens of a window of 16000 \(estimated for the model: 1\.2 × the count in o200k_base\)$/,
		);

		// Every original is kept.
		const options = { folder, environment: { PALIMPSEST_ARCHIVE: join(folder, "archive") } };
		const restored = await runHere(["restore", `${id}.jsonl`, "--set", "preset=balanced"], options);
		expect(restored.code).toBe(0);
		expect(restored.text.replaceAll(id as string, "s1")).toBe(session);
	});

	it("writes nothing for a dry run, for a session that has room, and where nothing makes it fit", async () => {
		const dry = await rescue("--context-window", "16000", "--dry-run");
		expect([dry.code, dry.text]).toEqual([0, ""]);
		expect(dry.lines.at(-2)).toContain("would write ");
		expect(await readdir(folder)).toEqual(["session.jsonl"]);
		const room = await rescue();
		expect([room.code, room.text]).toEqual([0, ""]);
		expect(room.lines.at(-1)).toContain("has room already");
		const none = await rescue("--context-window", "300", "--target", "0.5");
		expect([none.code, none.text]).toEqual([3, ""]);
		expect(none.lines.at(-1)).toMatch(/does not fit, up to \d+ tokens over 150: .*; nothing was written/);
		expect(await sessionsIn()).toEqual(["session.jsonl"]);
	});

	it("refuses a file that is not a session, and a share of nothing", async () => {
		await writeFile(
			join(folder, "session.jsonl"),
			JSON.stringify(
				["user", "assistant", "user", "assistant", "user"].map((role) => ({ role, content: "word ".repeat(900) })),
			),
		);
		const { code, lines } = await rescue("--context-window", "6000");
		expect([code, lines.at(-1)]).toEqual([1, expect.stringContaining("Expected a session file of Claude Code")]);
		expect((await rescue("--target", "0")).code).toBe(2);
		const input = await runHere(["rescue", "-", "--context-window", "16000"], { folder, input: session });
		expect([input.code, input.lines.at(-1)]).toEqual([1, expect.stringContaining("Expected a session file")]);
	});
});
