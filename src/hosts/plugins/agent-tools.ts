import type { JsonObject } from "../../engine/conversation/json.ts";
import { unseenAnswer } from "../../engine/masking/asked.ts";
import { PalimpsestError } from "../../errors.ts";
import type { PartRequest } from "../../storage/archive/part.ts";
import type { SessionEditor } from "./session-editor.ts";

/** A tool that a program without MCP offers its agent. */
export interface AgentTool {
	readonly name: string;
	readonly label: string;
	readonly description: string;
	/** As JSON Schema. */
	readonly parameters: JsonObject;
	/** The answer for the model. Rejects with an error whose message is for the model too. */
	readonly run: (input: JsonObject, editor: () => SessionEditor) => Promise<string>;
}

export const recallToolName = "recall_original";

/**
 * Recall, and what an agent can ask for its own conversation. `searches`: the tool also finds originals by their words, in all
 * conversations of the archive, so it is for programs of one person.
 */
export function agentTools({ searches }: { readonly searches: boolean }): readonly AgentTool[] {
	return [{ ...recallTool, ...(searches ? searchingToo : recallAlone) }, ...askingTools];
}

const partOfOriginal = {
	lines: { type: "string", description: "Such as 120-180, from 1 on." },
	chars: { type: "string", description: "Such as 8000-12000, for long lines." },
	grep: { type: "string", description: "Shows the lines that match this regular expression." },
	context: { type: "integer", minimum: 0, description: "Lines around each match. Default: 2." },
	head: { type: "integer", minimum: 1, description: "The first lines." },
	tail: { type: "integer", minimum: 1, description: "The last lines." },
	max_tokens: { type: "integer", minimum: 10, description: "Default: 2000." },
};

const ref = { type: "string", description: "Copied from the placeholder." };

const recallTool = {
	name: recallToolName,
	label: "Recall",
	async run(input: JsonObject, editor: () => SessionEditor): Promise<string> {
		const { ref, query, regex, max_tokens: maxTokens, lines, chars, grep, context, head, tail } = input;
		const part = { lines, chars, grep, context, head, tail, maxTokens } as PartRequest;
		const search = { query, regex, after: ref, maxTokens } as Parameters<SessionEditor["search"]>[0];
		try {
			if (ref === undefined && query === undefined) throw new Error("Expected `ref` or `query`.");
			return query === undefined ? await editor().recall(String(ref), part) : await editor().search(search);
		} catch (error) {
			throw error instanceof PalimpsestError ? new Error(error.message) : error;
		}
	},
};

const searchingToo = {
	description:
		"Reads an original that a placeholder or a notice names by its reference, or a part of it, or searches all originals. They are intact.",
	parameters: {
		type: "object",
		properties: {
			ref,
			query: { type: "string", description: "Instead of ref: words of the originals to find." },
			regex: { type: "boolean", description: "The query is a regular expression." },
			...partOfOriginal,
		},
	},
};

const recallAlone = {
	description:
		"Reads an original that a placeholder or a notice names by its reference, or a part of it. It is intact.",
	parameters: { type: "object", properties: { ref, ...partOfOriginal }, required: ["ref"] },
	run: ({ query: _, ...input }: JsonObject, editor: () => SessionEditor) => recallTool.run(input, editor),
};

const strings = { type: "array", items: { type: "string" } };

/** Each is answered in the next request, which holds the conversation. */
const askingTools: readonly AgentTool[] = [
	{
		name: "mask_conversation",
		label: "Mask",
		description:
			"Replaces old tool results of this conversation by placeholders from the next request on: all of them, or those that you name. Errors stay unless named.",
		parameters: {
			type: "object",
			properties: {
				refs: { ...strings, description: "Results by their references." },
				tool_call_ids: { ...strings, description: "Results by the ids of their calls." },
				tools: { ...strings, description: "Results by the names of their tools." },
				keep_turns: { type: "integer", minimum: 1, description: "The last turns that stay. Default: 1." },
				keep: { type: "boolean", description: "Keeps the named results in view instead." },
			},
		},
		run: async () => `${unseenAnswer}.`,
	},
	{
		name: "guard_context",
		label: "Context",
		description: "Says how full the window is, what fills it with references, and what masking would free.",
		parameters: { type: "object", properties: {} },
		run: async () => `${unseenAnswer}.`,
	},
];
