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
