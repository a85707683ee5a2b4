/** Tools that load the instructions of a skill, in the names of several hosts. */
const loading = /^(?:functions\.)?(?:skill|(?:activate|load|use|invoke|read)_?skill|skill_?(?:view|load))$/i;

/** Whether a tool answers with the instructions of a skill. */
export function loadsSkill(tool: string): boolean {
	return loading.test(tool);
}
