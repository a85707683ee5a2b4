/** A call of a tool, format aside. */
export interface ScriptCall {
	readonly id?: string | undefined;
	readonly name?: string | undefined;
}

/** What a tool answered, format aside. `content` goes into the message as it is. */
export interface ScriptResult {
	readonly id?: string | undefined;
	readonly content?: unknown;
	readonly isError?: boolean | undefined;
}

/** One entry of a conversation, format aside. */
export type Entry =
	| { readonly kind: "text"; readonly role: string; readonly text: unknown }
	| { readonly kind: "calls"; readonly calls: readonly ScriptCall[] }
	| { readonly kind: "results"; readonly results: readonly ScriptResult[] };

export type FormatName = "openai-chat" | "anthropic-messages";
export type JsonMessage = Readonly<Record<string, unknown>>;

export const system = (text: string): Entry => ({ kind: "text", role: "system", text });
export const user = (text: string): Entry => ({ kind: "text", role: "user", text });
export const assistant = (text: string): Entry => ({ kind: "text", role: "assistant", text });
export const calls = (...all: ScriptCall[]): Entry => ({ kind: "calls", calls: all });
export const results = (...all: ScriptResult[]): Entry => ({ kind: "results", results: all });

/** A tool turn with one call and its result. */
export function toolTurn(id: string, content: unknown, name = "read_file"): Entry[] {
	return [calls({ id, name }), results({ id, content })];
}

/** Writes a script as the messages of a format. */
export function writeMessages(format: FormatName, entries: readonly Entry[]): JsonMessage[] {
	return entries.flatMap(format === "openai-chat" ? writeOpenai : writeAnthropic);
}

/** A script as Chat Completions messages. */
export function openaiMessages(...entries: readonly (Entry | readonly Entry[])[]): JsonMessage[] {
	return writeMessages("openai-chat", entries.flat());
}

function writeOpenai(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: entry.role, content: entry.text }];
		case "calls": {
			const toolCalls = entry.calls.map(({ id, name }) => ({
				...present("id", id),
				type: "function",
				function: { ...present("name", name), arguments: '{"path":"a.txt"}' },
			}));
			return [{ role: "assistant", content: null, tool_calls: toolCalls }];
		}
		case "results":
			return entry.results.map(({ id, content }) => ({
				role: "tool",
				...present("tool_call_id", id),
				...present("content", content),
			}));
	}
}

function writeAnthropic(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: entry.role, content: entry.text }];
		case "calls": {
			const content = entry.calls.map(({ id, name }) => ({
				type: "tool_use",
				...present("id", id),
				...present("name", name),
				input: { path: "a.txt" },
			}));
			return [{ role: "assistant", content }];
		}
		case "results": {
			const content = entry.results.map((result) => ({
				type: "tool_result",
				...present("tool_use_id", result.id),
				...present("content", result.content),
				...present("is_error", result.isError),
			}));
			return [{ role: "user", content }];
		}
	}
}

/** A field, left out where its value is undefined. */
export function present(key: string, value: unknown): JsonMessage {
	return value === undefined ? {} : { [key]: value };
}
