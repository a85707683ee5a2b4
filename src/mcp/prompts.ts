import type { GetPromptResult } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { presetNames } from "../policy/names.ts";
import { modelNames } from "../tokens/models.ts";
import { invalidParams, RequestError } from "./answer.ts";

/** In UTF-16 code units. An argument becomes part of what a model reads. */
const longestArgument = 4_000;

type Complete = (typed: string) => string[] | Promise<string[]>;

type ArgumentSchema = z.ZodType<string | undefined, string | undefined>;

/** Each SDK has a `completable` of its own, which marks a schema whose values it completes. */
type Completable = (schema: ArgumentSchema, complete: (typed?: string) => ReturnType<Complete>) => ArgumentSchema;

/** Passes each prompt to an SDK, with the schemas of its arguments. */
export function bindPrompts(
	completable: Completable,
	register: (
		name: string,
		config: { title: string; description: string; argsSchema: Record<string, ArgumentSchema> },
		write: (given: Readonly<Record<string, string | undefined>>) => GetPromptResult,
	) => unknown,
): void {
	for (const { name, title, description, arguments: named, write } of [compact, contextReport]) {
		const schemas = Object.entries(named).map(([key, one]) => [key, schemaOf(one, completable)]);
		register(name, { title, description, argsSchema: Object.fromEntries(schemas) }, (given) => {
			refuseLong(given);
			return { description, messages: [{ role: "user", content: { type: "text", text: write(given) } }] };
		});
	}
}

/** A text that a user requests by name; hosts show prompts as slash commands. */
interface Prompt {
	readonly name: string;
	readonly title: string;
	readonly description: string;
	readonly arguments: Readonly<Record<string, PromptArgument>>;
	readonly write: (given: Readonly<Record<string, string | undefined>>) => string;
}

interface PromptArgument {
	readonly description: string;
	readonly complete?: Complete;
}

function schemaOf({ description, complete }: PromptArgument, completable: Completable) {
	const schema = z.string();
	if (!complete) return schema.optional().describe(description);
	// The SDK looks for completions inside an optional schema when it offers them, and outside when it answers.
	const inner = completable(schema, (typed = "") => complete(typed));
	return completable(inner.optional().describe(description), (typed = "") => complete(typed));
}

function refuseLong(given: Readonly<Record<string, string | undefined>>): void {
	for (const [name, text = ""] of Object.entries(given)) {
		if (text.length <= longestArgument) continue;
		const expected = `expected a text of at most ${longestArgument} characters, got one of ${text.length}`;
		throw new RequestError(invalidParams, `${name}: ${expected}`);
	}
}

const compact: Prompt = {
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
		const advice =
			"If you cannot pass the messages, answer with the hand-over alone: a new conversation can begin with it.";
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
			...(path ? [] : [advice]),
		].join("\n");
	},
};

const completePreset = (typed: string) => presetNames.filter((name) => name.startsWith(typed));

const contextReport: Prompt = {
	name: "context-report",
	title: "What fills the context",
	description: "Says what fills the model's window, and what each preset would free and cost.",
	arguments: {
		path: { description: "The session's file, where the agent cannot pass the messages themselves." },
		model: { description: "The model, for its window and its way of counting.", complete: modelNames },
		preset: { description: "A preset to look at more closely.", complete: completePreset },
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
