import { asksPerson, loadsSkill } from "../conversation/asking-tools.js";
/** Our own tools: a recalled text must stay whole, and a shortened one is short. */
export const ownTools = /(?:recall_original|truncate_output|guard_context|mask_conversation|compact_conversation)$/;
export const ownCommands =
	/\bpalimpsest\b[\w./"' -]*\s(?:recall|run|truncate|restore)\b|\bdist[\\/]+cli\.js["']?\s+recall\s/;
/** Tools that plan: their answers are written for the agent. Names of hosts that have hooks or plugins. */
const leftAlone =
	/^(?:functions\.)?(?:todo\w*|write_?todos|update_?(?:plan|todo)\w*|task_?(?:create|update|list|get)|plan\w*)$/i;
/** Whether a call asks for its unchanged output, such as the words of a person. */
export function isShownWhole(toolName, input = "") {
	const isForAgent = leftAlone.test(toolName) || loadsSkill(toolName) || asksPerson(toolName);
	return isForAgent || ownTools.test(toolName) || ownCommands.test(input);
}
