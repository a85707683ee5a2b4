/** Events as hosts send them to their hooks, written from the documented schemas. */

/** `PostToolUse` of Claude Code: https://code.claude.com/docs/en/hooks#posttooluse-input */
export function claudeCodeEvent(toolName: string, toolInput: unknown, toolResponse: unknown): string {
	return JSON.stringify({
		session_id: "abc123",
		transcript_path: "/home/user/.claude/projects/project/00893aaf-19fa-41d2-8238-13269b9b3ca0.jsonl",
		cwd: "/home/user/project",
		permission_mode: "default",
		hook_event_name: "PostToolUse",
		tool_name: toolName,
		tool_input: toolInput,
		tool_response: toolResponse,
		tool_use_id: "toolu_01ABC123",
		duration_ms: 12,
	});
}

/** `SessionStart` of Claude Code after a compaction, as 2.1.330 sends it. */
export function compactedEvent(transcript: string, source = "compact"): string {
	return JSON.stringify({
		session_id: "abc123",
		transcript_path: transcript,
		cwd: "/home/user/project",
		hook_event_name: "SessionStart",
		source,
		model: "claude-sonnet-4-5",
	});
}

/** The response of Claude Code's `Bash`. */
export function bashResponse(stdout: string, more: Readonly<Record<string, unknown>> = {}) {
	return { stdout, stderr: "", interrupted: false, isImage: false, noOutputExpected: false, ...more };
}

/** `AfterTool` of Gemini CLI: https://geminicli.com/docs/hooks/reference#aftertool */
export function geminiCliEvent(toolName: string, toolInput: unknown, toolResponse: unknown): string {
	return JSON.stringify({
		session_id: "abc123",
		transcript_path: "/home/user/.gemini/tmp/chats/session.json",
		cwd: "/home/user/project",
		hook_event_name: "AfterTool",
		timestamp: "2026-11-21T10:00:00.000Z",
		tool_name: toolName,
		tool_input: toolInput,
		tool_response: toolResponse,
	});
}

/** A log of so many lines; the given ones stand in it by their number. */
export function logOf(lines: number, others: Readonly<Record<number, string>> = {}): string {
	return Array.from({ length: lines }, (_, index) => others[index + 1] ?? `line ${index + 1} of the log is fine`).join(
		"\n",
	);
}

/** `PostToolUse` of Codex, as 0.169 sends it: https://developers.openai.com/codex/hooks */
export function codexEvent(toolName: string, toolInput: unknown, toolResponse: unknown): string {
	return JSON.stringify({
		session_id: "01a204dc-d049-7781-b0d7-2c66f659bfcd",
		turn_id: "01a204dc-d099-7b30-b7ca-0f6ca4c7a283",
		transcript_path: "/home/user/.codex/sessions/2026/11/22/rollout.jsonl",
		cwd: "/home/user/project",
		hook_event_name: "PostToolUse",
		model: "gpt-5",
		permission_mode: "default",
		tool_name: toolName,
		tool_input: toolInput,
		tool_response: toolResponse,
		tool_use_id: "call_01ABC123",
	});
}

/** `postToolUse` of Copilot CLI, as 1.0.102 sends it. */
export function copilotCliEvent(toolName: string, toolArgs: unknown, toolResult: unknown): string {
	const where = { sessionId: "f9f04575-1866-4d61-8f74-704ec1cdb09e", timestamp: 1_795_377_915_478, cwd: "/home/user" };
	return JSON.stringify({ ...where, toolName, toolArgs, toolResult });
}
