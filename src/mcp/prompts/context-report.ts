import { presetNames } from "../../policy/names.ts";
import { modelNames } from "../../tokens/model-names.ts";
import type { Prompt } from "./prompt.ts";

/** What fills the window, and what could be done about it. */
export const contextReport: Prompt = {
	name: "context-report",
	title: "What fills the context",
	description: "Says what fills the model's window, and what each preset would free and cost.",
	arguments: {
		path: { description: "The session's file, where the agent cannot pass the messages themselves." },
		model: { description: "The model, for its window and its way of counting.", complete: modelNames },
		preset: {
			description: "A preset to look at more closely.",
			complete: (typed) => presetNames.filter((name) => name.startsWith(typed)),
		},
	},
	write({ path, model, preset }) {
		const given = [
			path ? `\`path\` = ${JSON.stringify(path)}` : "`messages` = this conversation",
			...(model ? [`\`model\` = ${JSON.stringify(model)}`] : []),
			...(preset ? [`\`policy\` = ${JSON.stringify({ preset })}`] : []),
			'`respond_with` = "report"',
		];
		return [
			`Call guard_context with ${given.join(", ")}. It changes nothing.`,
			"Then tell me, shortly and with its figures:",
			"1. how full the window is, and whether the conversation fits;",
			"2. what fills it: by role, by tool, and the biggest results, with their age and whether they were used since;",
			"3. what masking would free, what rewriting the prompt cache for it would cost, and after how many calls that is earned back;",
			"4. what you recommend.",
		].join("\n");
	},
};
