/**
 * Tools that ask a person, in the names of Claude Code, Codex, opencode, Gemini CLI, Qwen Code, Copilot CLI, VS Code, Cursor,
 * Hermes, Cline and Roo Code.
 */
const asking =
	/^(?:functions\.|vscode_)?(?:ask_?user(?:_?questions?)?|ask_?(?:followup_)?questions?|request_user_input|questions?|clarify|attempt_completion|plan_mode_respon[ds]e?|new_task)$/i;
/** Whether the result of a tool is what a person answered. */
export function asksPerson(tool) {
	return tool !== undefined && asking.test(tool);
}
/** Tools that load the instructions of a skill. Beside those that ask a person, since a hook loads both for each result. */
const loading = /^(?:functions\.)?(?:skill|(?:activate|load|use|invoke|read)_?skill|skill_?(?:view|load))$/i;
/** Whether a tool answers with the instructions of a skill. */
export function loadsSkill(tool) {
	return loading.test(tool);
}
