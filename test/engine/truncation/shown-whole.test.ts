import { expect, it } from "vitest";
import { isShownWhole } from "../../../src/engine/truncation/shown-whole.ts";

it.each([
	"AskUserQuestion",
	"ask_user",
	"question",
	"Skill",
	"activate_skill",
	"load_skill",
	"TodoWrite",
	"TaskCreate",
])("what %s answers is shown whole", (tool) => {
	expect(isShownWhole(tool)).toBe(true);
});

it.each(["Bash", "Task", "Agent", "TaskOutput", "Read", "read_file", "WebFetch", "questionable", "skills_index"])(
	"what %s answers may be cut",
	(tool) => {
		expect(isShownWhole(tool)).toBe(false);
	},
);
