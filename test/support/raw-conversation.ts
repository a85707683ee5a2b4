import type { FormatName } from "./script.ts";

/** A tool result as it stands in the JSON, read without any code of the product. */
export interface RawResult {
	readonly id: string | undefined;
	/** JSON Pointer of its content. */
	readonly pointer: string;
	readonly content: unknown;
	readonly flaggedError: boolean;
}

/** A message as it stands in the JSON, read without any code of the product. */
export interface RawMessage {
	readonly index: number;
	readonly pointer: string;
	readonly value: JsonObject;
	readonly role: string;
	readonly isSystem: boolean;
	readonly calls: readonly { readonly id: string | undefined; readonly name: string | undefined }[];
	readonly results: readonly RawResult[];
	/** Ids of blocks that others may name, apart from calls; and the ids that blocks name, apart from those of results. */
	readonly opens: readonly string[];
	readonly names: readonly string[];
}

type JsonObject = Readonly<Record<string, unknown>>;

const asObject = (value: unknown): JsonObject =>
	typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const asId = (value: unknown): string | undefined => (value === "" ? undefined : asText(value));

/** The list of messages of a document. */
export function rawList(document: unknown): readonly unknown[] {
	return Array.isArray(document) ? document : (asObject(document).messages as readonly unknown[]);
}

/** Reads a document the plain way: the independent half of every comparison with the product. */
export function readRaw(document: unknown, format: FormatName): RawMessage[] {
	const base = Array.isArray(document) ? "" : "/messages";
	return rawList(document).map((item, index) => {
		const value = asObject(item);
		const role = asText(value.role) ?? "";
		const pointer = `${base}/${index}`;
		const isSystem = role === "system" || (role === "developer" && format === "openai-chat");
		const sides = format === "openai-chat" ? openaiSides(value, role, pointer) : anthropicSides(value, pointer);
		return { index, pointer, value, role, isSystem, opens: [], names: [], ...sides };
	});
}

function openaiSides(value: JsonObject, role: string, pointer: string): Pick<RawMessage, "calls" | "results"> {
	const listed = Array.isArray(value.tool_calls) ? (value.tool_calls as unknown[]) : [];
	const calls = listed.map((item) => {
		const call = asObject(item);
		const body = asObject(call.function ?? call.custom);
		return { id: asId(call.id), name: asText(body.name) };
	});
	if (value.function_call) calls.push({ id: undefined, name: asText(asObject(value.function_call).name) });
	const isResult = role === "tool" || role === "function";
	const result = {
		id: asId(value.tool_call_id ?? (value.tool_call_ids as unknown[] | undefined)?.[0]),
		pointer: `${pointer}/content`,
		content: value.content,
		flaggedError: false,
	};
	return { calls, results: isResult ? [result] : [] };
}

function anthropicSides(value: JsonObject, pointer: string): Pick<RawMessage, "calls" | "results" | "opens" | "names"> {
	const blocks = Array.isArray(value.content) ? (value.content as unknown[]).map(asObject) : [];
	return {
		calls: blocks.flatMap((block) =>
			block.type === "tool_use" ? [{ id: asId(block.id), name: asText(block.name) }] : [],
		),
		results: blocks.flatMap((block, position) => {
			if (block.type !== "tool_result") return [];
			const at = `${pointer}/content/${position}/content`;
			const flaggedError = block.is_error === true;
			return [{ id: asId(block.tool_use_id), pointer: at, content: block.content, flaggedError }];
		}),
		opens: blocks.flatMap((block) => {
			const isServers = block.type === "server_tool_use" || block.type === "mcp_tool_use";
			return (isServers && asId(block.id)) || [];
		}),
		names: blocks.flatMap((block) => {
			const isServers = block.type !== "tool_result" && /_tool_result$/.test(asText(block.type) ?? "");
			const named = [isServers ? block.tool_use_id : undefined, asObject(block.caller).tool_id];
			return named.flatMap((id) => asId(id) ?? []);
		}),
	};
}

/** The message that made the call which a result answers: the nearest one, looking back. */
export function callerOf(messages: readonly RawMessage[], index: number, id: string | undefined): number | undefined {
	if (id === undefined) return undefined;
	for (let at = index; at >= 0; at -= 1) if (messages[at]?.calls.some((call) => call.id === id)) return at;
	return undefined;
}

/** The message with the block that another one names: the nearest one, looking back. */
export function openerOf(messages: readonly RawMessage[], index: number, id: string): number | undefined {
	for (let at = index; at >= 0; at -= 1) {
		const { opens = [], calls = [] } = messages[at] ?? {};
		if (opens.includes(id) || calls.some((call) => call.id === id)) return at;
	}
	return undefined;
}

/** The text of a content that is text and nothing else: a string, or a list of text parts. */
export function textOfContent(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	const texts = textParts(content);
	return texts === undefined || texts.length === 0 ? undefined : texts.join("\n");
}

/** The texts of a list that holds only text parts. */
export function textParts(content: unknown): string[] | undefined {
	if (!Array.isArray(content)) return undefined;
	const parts = content.map(asObject);
	const isText = (part: JsonObject) => part.type === "text" && typeof part.text === "string";
	return parts.every(isText) ? parts.map((part) => part.text as string) : undefined;
}

/** The contents of all results, in order. */
export function resultContents(document: unknown, format: FormatName = "openai-chat"): unknown[] {
	return readRaw(document, format).flatMap((message) => message.results.map((result) => result.content));
}
