import type { Json } from "./thinking-session.ts";

/** A block of a message as the host keeps it. Thinking has a number in place of the signature, which is another in each world. */
export type HostBlock =
	| { readonly kind: "text"; readonly text: string }
	| { readonly kind: "thinking"; readonly number: number; readonly isRedacted: boolean }
	| { readonly kind: "call"; readonly id: string; readonly name: string; readonly input: Json }
	| { readonly kind: "result"; readonly id: string; readonly content: unknown; readonly isError: boolean };

/** Never changed, so that the same message is the same object in every history. */
export interface HostMessage {
	readonly role: "user" | "assistant" | "system";
	readonly blocks: readonly HostBlock[];
}

export type HostResult = Extract<HostBlock, { readonly kind: "result" }>;

/** How a host writes its requests. */
export interface HostForm {
	readonly model: string;
	/** Of the request: `undefined` for a host that sends none. */
	readonly thinking: Json | undefined;
	readonly cacheControl: Json | undefined;
	/** The message of the role `system` is a text in one request and a list in the next. */
	readonly alternatesSystem: boolean;
	readonly hasBillingHeader: boolean;
	readonly offersRecall: boolean;
	/** Edits of the context that it asks the API for. */
	readonly contextManagement?: Json;
}

const schema = { type: "object", properties: { command: { type: "string" } } };

/** The body of a request. `signed` makes the blocks of thinking of a world. */
export function bodyOf(
	history: readonly HostMessage[],
	form: HostForm,
	{
		request,
		signed,
		counts,
	}: { readonly request: number; readonly signed: (number: number) => Json; readonly counts: boolean },
): Json {
	const { model, thinking, cacheControl, alternatesSystem, hasBillingHeader, offersRecall, contextManagement } = form;
	const mark = cacheControl ? { cache_control: cacheControl } : {};
	const billing = { type: "text", text: `x-anthropic-billing-header: cc_version=2.1; cch=${request};` };
	const names = ["Bash", "Grep", ...(offersRecall ? ["mcp__palimpsest__recall_original"] : [])];
	return {
		model,
		...(counts ? {} : { max_tokens: "@max", metadata: { user_id: `request-${request}` } }),
		...(thinking ? { thinking } : {}),
		...(contextManagement ? { context_management: contextManagement } : {}),
		system: [...(hasBillingHeader ? [billing] : []), { type: "text", text: "You are an agent. @accent", ...mark }],
		tools: names.map((name) => ({ name, description: `${name} of the project.`, input_schema: schema })),
		messages: history.map(({ role, blocks }, index) => {
			const isLast = index === history.length - 1 && role !== "system";
			const written = blocks.map((block, place): Json => {
				return { ...writeBlock(block, signed), ...(isLast && place === blocks.length - 1 ? mark : {}) };
			});
			const isText = role === "system" && !(alternatesSystem && request % 2 === 0);
			return { role, content: isText ? written.map(({ text }) => text).join("") : written };
		}),
	};
}

function writeBlock(block: HostBlock, signed: (number: number) => Json): Json {
	switch (block.kind) {
		case "text":
			return { type: "text", text: block.text };
		case "thinking":
			return signed(block.number);
		case "call":
			return { type: "tool_use", id: block.id, name: block.name, input: block.input };
		case "result": {
			const { id, content, isError } = block;
			return { type: "tool_result", tool_use_id: id, content, ...(isError ? { is_error: true } : {}) };
		}
	}
}

const spellings: readonly (readonly [string, string])[] = [
	['"@max"', "3.20e4"],
	["@accent", "caf\\u00e9"],
	['"@number"', "1.50"],
	["@slash", "a\\/b"],
];

/** Compact JSON with some spellings that no program of JavaScript writes. */
export function spelled(body: unknown): string {
	return spellings.reduce((text, [written, odd]) => text.replaceAll(written, odd), JSON.stringify(body));
}

/** Results of a history in order, each with the place of its message. */
export function resultsIn(
	history: readonly HostMessage[],
): { readonly message: number; readonly result: HostResult }[] {
	return history.flatMap(({ blocks }, message) =>
		blocks.flatMap((result) => (result.kind === "result" ? [{ message, result }] : [])),
	);
}

/** Names a result: with short ids, and after a host has rewritten it, another one has the same id. */
export function keyOf({ id, content }: HostResult): string {
	return `${id} ${JSON.stringify(content)}`;
}

export function thinkingIn(history: readonly HostMessage[]): { readonly message: number; readonly number: number }[] {
	return history.flatMap(({ blocks }, message) =>
		blocks.flatMap((block) => (block.kind === "thinking" ? [{ message, number: block.number }] : [])),
	);
}

/** The same history from a message on without its thinking. */
export function withoutThinking(history: readonly HostMessage[], from = 0): HostMessage[] {
	return history.map((message, index) => {
		const blocks = message.blocks.filter(({ kind }) => kind !== "thinking");
		return index < from || blocks.length === message.blocks.length ? message : { ...message, blocks };
	});
}

/** Names a conversation as the first calls of its history do. A host that takes out its thinking goes on with it. */
export function startOf(history: readonly HostMessage[]): string {
	const first = history.find(({ blocks }) => blocks.some(({ kind }) => kind === "call"));
	return (first?.blocks ?? []).flatMap((block) => (block.kind === "call" ? [block.id] : [])).join(" ");
}
