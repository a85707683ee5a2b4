import { generateConversation, type Message } from "./generate-conversation.ts";

/** Messages of OpenAI's chat completions, each with an `id` of its own beside what the interface asks for. */
export function openaiMessages(messages: readonly Message[]): Record<string, unknown>[] {
	return messages.map((message) => {
		if (message.role === "tool") {
			return { role: "tool", id: message.id, tool_call_id: message.callId, content: message.text };
		}
		if (message.role !== "assistant") return { role: message.role, id: message.id, content: message.text };
		const calls = message.calls.map((call) => ({
			id: call.id,
			type: "function",
			function: { name: call.name, arguments: JSON.stringify(call.input) },
		}));
		const asked = calls.length > 0 ? { tool_calls: calls } : {};
		return { role: "assistant", id: message.id, content: message.text, ...asked };
	});
}

/** A conversation of a size in MB of JSON, in that format: its text, and parsed, as a program that has read it has it. */
export function conversationOfSize(
	megabytes: number,
	seed: number,
): { readonly text: string; readonly parsed: unknown[] } {
	const texts: string[] = [];
	let characters = 1;
	for (const message of openaiMessages(generateConversation(seed, Math.ceil(megabytes * 1200)))) {
		if (characters >= megabytes * 1e6) break;
		const text = JSON.stringify(message);
		texts.push(text);
		characters += text.length + 1;
	}
	const text = `[${texts.join(",")}]`;
	return { text, parsed: JSON.parse(text) };
}

/** A request of Anthropic's messages interface; results carry `is_error`, and all results of a turn share a message. */
export function anthropicRequest(messages: readonly Message[]): Record<string, unknown> {
	const written: { role: string; content: unknown }[] = [];
	let results: unknown[] | undefined;
	let system = "";
	for (const message of messages) {
		if (message.role === "tool") {
			if (results === undefined) {
				results = [];
				written.push({ role: "user", content: results });
			}
			const error = message.failed ? { is_error: true } : {};
			results.push({ type: "tool_result", tool_use_id: message.callId, content: message.text, ...error });
			continue;
		}
		results = undefined;
		if (message.role === "system") {
			system = message.text;
		} else if (message.role === "user") {
			written.push({ role: "user", content: message.text });
		} else {
			const calls = message.calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input }));
			written.push({ role: "assistant", content: [{ type: "text", text: message.text }, ...calls] });
		}
	}
	return { model: "claude-sonnet-4-5", max_tokens: 4096, system, messages: written };
}

/** The classes of `@langchain/core/messages` that are used here. */
export interface LangChainMessages {
	readonly SystemMessage: new (fields: object) => LangChainMessage;
	readonly HumanMessage: new (fields: object) => LangChainMessage;
	readonly AIMessage: new (fields: object) => LangChainMessage;
	readonly ToolMessage: new (fields: object) => LangChainMessage;
	readonly trimMessages: (messages: LangChainMessage[], options: object) => Promise<LangChainMessage[]>;
}

export interface LangChainMessage {
	readonly id?: string;
	readonly content: string;
	readonly tool_calls?: readonly { readonly id: string; readonly name: string; readonly args: object }[];
	readonly tool_call_id?: string;
	readonly status?: string;
	getType(): string;
}

/** LangChain's message objects, with ids, and results with a status. */
export function langChainMessages(classes: LangChainMessages, messages: readonly Message[]): LangChainMessage[] {
	return messages.map((message) => {
		const { id, text: content } = message;
		if (message.role === "system") return new classes.SystemMessage({ id, content });
		if (message.role === "user") return new classes.HumanMessage({ id, content });
		if (message.role === "assistant") {
			const calls = message.calls.map((call) => ({
				id: call.id,
				name: call.name,
				args: call.input,
				type: "tool_call",
			}));
			return new classes.AIMessage({ id, content, tool_calls: calls });
		}
		const status = message.failed ? "error" : "success";
		return new classes.ToolMessage({ id, content, tool_call_id: message.callId, name: message.name, status });
	});
}

/** A message of the AI SDK's prompts, which Mastra's processors take as well. */
export interface PromptMessage {
	readonly role: string;
	readonly content: string | readonly PromptPart[];
}

export interface PromptPart {
	readonly type: string;
	readonly text?: string;
	readonly toolCallId?: string;
	readonly toolName?: string;
	readonly input?: unknown;
	readonly output?: { readonly type: string; readonly value: string };
}

/** Messages of the AI SDK. It has no ids of messages; a failed result is an `error-text`. */
export function promptMessages(messages: readonly Message[]): PromptMessage[] {
	return messages.map((message) => {
		if (message.role === "system") return { role: "system", content: message.text };
		if (message.role === "user") return { role: "user", content: [{ type: "text", text: message.text }] };
		if (message.role === "assistant") {
			const calls = message.calls.map((call) => ({
				type: "tool-call",
				toolCallId: call.id,
				toolName: call.name,
				input: call.input,
			}));
			return { role: "assistant", content: [{ type: "text", text: message.text }, ...calls] };
		}
		const output = { type: message.failed ? "error-text" : "text", value: message.text };
		const part = { type: "tool-result", toolCallId: message.callId, toolName: message.name, output };
		return { role: "tool", content: [part] };
	});
}
