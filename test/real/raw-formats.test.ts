import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { readRecording } from "../../src/formats/recording.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData, realDataFolder } from "../support/real-conversations.ts";
import { thereAndBack } from "../support/there-and-back.ts";

const textOf = (file: string) => readFileSync(join(realDataFolder, "raw", file), "utf8");

/** Masked e-mail addresses took the `n` of a line break with them. */
const repaired = (text: string) => text.replace(/\\(["\\/bfnrtu]?)/g, (pair, known) => (known ? pair : ""));

describe.skipIf(!hasRealData || !existsSync(join(realDataFolder, "raw")))(
	"transcripts as programs publish them",
	() => {
		it.each([
			["langgraph-deerflow/7cfa5f8f.json", "langchain", 15],
			["cline/cline-xray.ui_messages.json", "cline-ui", 25],
			["claude-managed-agents/pinchcatcher.jsonl", "managed-agents", 40],
			["claude-sdk-turns/claude-code-action-sample-turns.json", "claude-code", 0],
			["vscode-copilot/orbital-clash.json", "vscode-chat", 0],
		] as const)("%s is masked and restored", async (file, format, atLeast) => {
			const text = repaired(textOf(file));
			const { outcome, restored } = await thereAndBack(text, policyOf({ mask: { window_turns: 3 } }));
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.format).toBe(format);
			expect(outcome.report.masked_tool_results).toBeGreaterThanOrEqual(atLeast);
			expect(restored).toBe(text);
		});

		it.each([
			["swe-agent-traj/django__django-16400.traj", 2],
			["swe-agent-traj/doubao-pro-128k-fasterxml__jackson-core-894.traj", 21],
		] as const)("%s is masked and restored without its history", async (file, masked) => {
			const { history: _, ...rest } = JSON.parse(textOf(file));
			const text = JSON.stringify(rest, null, 2);
			const { outcome, restored } = await thereAndBack(text, policyOf({ mask: { window_turns: 3 } }));
			expect(outcome.error).toBeUndefined();
			expect(outcome.report).toMatchObject({ format: "swe-agent", masked_tool_results: masked });
			expect(restored).toBe(text);
		});

		it.each([
			["langgraph-sse/github-top-trending-repo.txt", "event stream", 6],
			["crush-vcr/deepseek-v4-update_a_file.yaml", "VCR cassette", 3],
		] as const)("%s is read as a recording", (file, kind, results) => {
			const recording = readRecording(textOf(file));
			expect(recording?.kind).toBe(kind);
			const { messages } = readConversation(recording?.conversation).transcript;
			expect(messages.flatMap((message) => message.results)).toHaveLength(results);
		});
	},
);
