import type { Prompt } from "./prompt.ts";

/** A hand-over in the agent's own words, put in the place of what it stands for. */
export const compact: Prompt = {
	name: "compact",
	title: "Compact this conversation",
	description: "Writes a hand-over in the agent's own words and puts it in the place of the old messages.",
	arguments: {
		keep: { description: "What must survive, such as a task, a file or a decision." },
		path: { description: "The session's file, where the agent cannot pass the messages themselves." },
	},
	write({ keep, path }) {
		const conversation = path
			? `\`path\` = ${JSON.stringify(path)} and \`output_path\` = a new file beside it`
			: "`messages` = this conversation";
		return [
			"Write a hand-over of this conversation, in your own words, for whoever goes on with it knowing nothing else:",
			"1. the task and its limits, as the user put them;",
			"2. what was done and decided, and why;",
			"3. every path, command, identifier and figure that is still needed, to the letter;",
			"4. what failed, and what was learned from it;",
			"5. what is to be done next.",
			...(keep ? [`Above all keep: ${keep}`] : []),
			"",
			`Then call compact_conversation with \`summary\` = the hand-over, ${conversation}, \`strategy\` = "llm-summary".`,
			"The report lists identifiers that the hand-over lost: put in those that are needed and call again.",
			...(path
				? []
				: ["If you cannot pass the messages, answer with the hand-over alone: a new conversation can begin with it."]),
		].join("\n");
	},
};
