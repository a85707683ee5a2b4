import type { ExcerptWordings } from "../policy/wordings.ts";

/** A tool call that a host tells of, and what came of it. */
export interface ToolEvent {
	readonly toolName: string;
	readonly toolCallId: string | undefined;
	readonly input: unknown;
	/** In the shape of the host and of the tool. */
	readonly response: unknown;
}

/** Shortens one text of a tool's result to at most so many characters; `undefined` where it fits. */
export type ShortenPart = (text: string, mostChars: number) => Promise<string | undefined>;

/** What a hook works with. */
export interface HookContext {
	/** Characters up to which a result is left whole. */
	readonly mostChars: number;
	readonly shorten: ShortenPart;
	/** The same for a text that the host has put into a file; `undefined` also where that cannot be read. */
	readonly shortenFile: (file: string, mostChars: number) => Promise<string | undefined>;
	/** The notices, loaded where a result is to be shortened. */
	readonly wordings: () => Promise<ExcerptWordings>;
}

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Reads an event, whose fields Claude Code and Gemini CLI name alike; `undefined` where it is another event.
 *
 * Sources: https://code.claude.com/docs/en/hooks#posttooluse, https://geminicli.com/docs/hooks/reference#aftertool.
 */
export function readToolEvent(json: string, eventName: string): ToolEvent | undefined {
	const event: unknown = JSON.parse(json);
	if (!isJsonObject(event) || event.hook_event_name !== eventName) return undefined;
	const { tool_name: toolName, tool_use_id: id, tool_input: input, tool_response: response } = event;
	if (typeof toolName !== "string") return undefined;
	return { toolName, toolCallId: typeof id === "string" ? id : undefined, input, response };
}

const ownTools = /(?:recall_original|truncate_output|guard_context|mask_conversation|compact_conversation)$/;
const ownCommands = /\bpalimpsest\b[\w./"' -]*\s(?:recall|run|truncate|restore)\b|\bdist[\\/]+cli\.js["']?\s+recall\s/;

/** Whether a result is of ours: what was recalled must not be shortened again, and what was shortened need not. */
export function isOwnResult({ toolName, input }: Pick<ToolEvent, "toolName" | "input">): boolean {
	if (ownTools.test(toolName)) return true;
	return isJsonObject(input) && typeof input.command === "string" && ownCommands.test(input.command);
}
