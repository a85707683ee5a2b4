import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bashResponse, logOf } from "../support/hook-events.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { answerText, type StdioSession, stdioSession } from "../support/stdio-session.ts";

const long = logOf(4_000, { 2000: "FATAL: the disk is on fire" });
const parameters = ["serve", "--hooks", "--archive", "memory", "--set", "locale=en", "--tools", "recall_original"];
const command = { command: "npm test" };

/** A hook's call as Claude Code makes it, which fills in objects as JSON. */
function claudeCodeCall(toolName: string, input: unknown, response: unknown) {
	const text = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
	const filled = { tool_name: toolName, tool_use_id: "toolu_01ABC123", tool_input: text(input) };
	return { host: "claude-code", ...filled, tool_response: text(response) };
}

async function answered(session: StdioSession, call: Record<string, unknown>) {
	const result = await session.call("shorten_result", call);
	expect([result.isError, result.structuredContent]).toEqual([undefined, undefined]);
	return JSON.parse(answerText(result));
}

describe("shorten_result", () => {
	let session: StdioSession;
	beforeAll(async () => {
		session = await stdioSession({ parameters, lasts: "file" });
	});

	it("answers a hook of Claude Code in the shape of the tool, and the server recalls the original", async () => {
		const { hookSpecificOutput } = await answered(session, claudeCodeCall("Bash", command, bashResponse(long)));
		const { hookEventName, updatedToolOutput } = hookSpecificOutput;
		const { stdout, ...rest } = updatedToolOutput;
		expect([hookEventName, rest]).toEqual([
			"PostToolUse",
			{ stderr: "", interrupted: false, isImage: false, noOutputExpected: false },
		]);
		expect(stdout).toMatch(/\nFATAL: the disk is on fire\n/);
		const [, ref] = /^\[Output shortened: .* recall (\w+)\]\n/.exec(stdout) ?? [];
		const recalled = await session.call("recall_original", { ref, lines: "2000" });
		expect(recalled.content).toMatchObject([{ text: expect.stringMatching(/\nFATAL: the disk is on fire\n$/) }]);
		const byCall = await session.call("recall_original", { tool_call_id: "toolu_01ABC123", lines: "1" });
		expect(byCall.isError).toBeUndefined();
	});

	it("answers a hook of Codex, which hands over values unchanged", async () => {
		const response = { content: [{ type: "text", text: long }] };
		const call = { host: "codex", tool_name: "mcp__big__log", tool_input: {}, tool_response: response };
		const { decision, reason } = await answered(session, call);
		expect([decision, reason]).toEqual(["block", expect.stringMatching(/^\[Output shortened: /)]);
		expect(await answered(session, { ...call, max_chars: "500000" })).toEqual({});
	});

	it("keeps a text that is JSON itself a text", async () => {
		const json = JSON.stringify({ log: long });
		const { hookSpecificOutput } = await answered(session, claudeCodeCall("mcp__big__log", {}, json));
		expect(hookSpecificOutput.updatedToolOutput).toEqual(expect.stringContaining("line 1 of the log is fine\\n"));
		const blocks = await answered(session, claudeCodeCall("mcp__big__log", {}, [{ type: "text", text: long }]));
		expect(blocks.hookSpecificOutput.updatedToolOutput).toEqual([
			{ type: "text", text: expect.stringMatching(/^\[Output shortened: /) },
		]);
	});

	it.each<[string, Record<string, unknown>]>([
		["a small result", claudeCodeCall("Bash", command, bashResponse("small"))],
		["a recalled original", claudeCodeCall("mcp__plugin_palimpsest_palimpsest__recall_original", {}, long)],
		["a result of another shape", claudeCodeCall("Bash", command, long)],
		[
			"a result of which the host shows a preview",
			claudeCodeCall("Bash", command, { ...bashResponse(long), persistedOutputPath: "/p/tool-results/b1.txt" }),
		],
	])("leaves %s unchanged", async (_what, call) => {
		expect(await answered(session, call)).toEqual({});
	});

	it("never fails its host: without a place for the original, the result stays", async () => {
		const file = join(await scratchFolder(), "file");
		await writeFile(file, "no folder");
		const session = await stdioSession({ parameters: ["serve", "--hooks", "--archive", join(file, "archive")] });
		expect(await answered(session, claudeCodeCall("Bash", command, bashResponse(long)))).toEqual({});
		expect(session.stderr()).toContain("A hook left a result unedited");
		expect(session.stderr()).not.toContain("on fire");
	});

	it("is not listed, and answers only with --hooks", async () => {
		const listed = async (given: string[]) => {
			const { client } = await stdioSession({ parameters: given });
			return { client, names: (await client.listTools()).tools.map(({ name }) => name) };
		};
		expect((await listed(parameters)).names).toEqual(["recall_original"]);
		const { client } = await listed(["--archive", "memory"]);
		const call = client.callTool({ name: "shorten_result", arguments: claudeCodeCall("Bash", command, "") });
		await expect(call).rejects.toThrow("Unknown tool. Known:");
		const { code, lines } = await runHere(["serve", "--http", "--hooks"], { folder: await scratchFolder() });
		expect([code, lines.join()]).toEqual([2, expect.stringContaining("expected --hooks without --http")]);
	});
});
