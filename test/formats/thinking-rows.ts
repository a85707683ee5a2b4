import { outputOf } from "../support/sample-text.ts";

/** A tool turn with reasoning, written as a format's own messages or records. */
type WriteTurn = (id: string, output: string) => readonly unknown[];

/** A format with reasoning that is bound to what stands before it, as the tests of the policy's `thinking` need it. */
export interface ThinkingRow {
	readonly format: string;
	/** Messages or records before the first turn. */
	readonly opening: readonly unknown[];
	/** A turn whose reasoning is signed `signature-of-<id>` and can be taken out. */
	readonly turn: WriteTurn;
	/** The user's next words. */
	readonly closing: readonly unknown[];
}

const signatureOf = (id: string) => `signature-of-${id}`;

function linkRecords(records: readonly object[], id: string, parent: string) {
	return records.map((record, index) => ({
		...record,
		[id]: `${id}${index}`,
		[parent]: index ? `${id}${index - 1}` : null,
	}));
}

const anthropicAnswer = (id: string) => [
	{ type: "thinking", thinking: `Thought of ${id}.`, signature: signatureOf(id) },
	{ type: "tool_use", id, name: "look", input: {} },
];
const anthropicResult = (id: string, output: string) => [{ type: "tool_result", tool_use_id: id, content: output }];

export const thinkingRows: readonly ThinkingRow[] = [
	{
		format: "anthropic-messages",
		opening: [{ role: "user", content: "Go." }],
		turn: (id, output) => [
			{ role: "assistant", content: anthropicAnswer(id) },
			{ role: "user", content: anthropicResult(id, output) },
		],
		closing: [{ role: "user", content: "And?" }],
	},
	{
		format: "bedrock-converse",
		opening: [{ role: "user", content: [{ text: "Go." }] }],
		turn: (id, output) => [
			{
				role: "assistant",
				content: [
					{ reasoningContent: { reasoningText: { text: `Thought of ${id}.`, signature: signatureOf(id) } } },
					{ toolUse: { toolUseId: id, name: "look", input: {} } },
				],
			},
			{ role: "user", content: [{ toolResult: { toolUseId: id, content: [{ text: output }] } }] },
		],
		closing: [{ role: "user", content: [{ text: "And?" }] }],
	},
	{
		format: "vercel-model",
		opening: [{ role: "user", content: "Go." }],
		turn: (id, output) => [
			{
				role: "assistant",
				content: [
					{
						type: "reasoning",
						text: `Thought of ${id}.`,
						providerOptions: { anthropic: { signature: signatureOf(id) } },
					},
					{ type: "tool-call", toolCallId: id, toolName: "look", input: {} },
				],
			},
			{
				role: "tool",
				content: [{ type: "tool-result", toolCallId: id, toolName: "look", output: { type: "text", value: output } }],
			},
		],
		closing: [{ role: "user", content: "And?" }],
	},
	{
		format: "vercel-ui",
		opening: [{ id: "u", role: "user", parts: [{ type: "text", text: "Go." }] }],
		turn: (id, output) => [
			{
				id: `m-${id}`,
				role: "assistant",
				parts: [
					{ type: "step-start" },
					{
						type: "reasoning",
						text: `Thought of ${id}.`,
						providerMetadata: { anthropic: { signature: signatureOf(id) } },
					},
					{ type: "tool-look", toolCallId: id, state: "output-available", input: {}, output },
				],
			},
		],
		closing: [{ id: "v", role: "user", parts: [{ type: "text", text: "And?" }] }],
	},
	{
		format: "inspect",
		opening: [{ role: "user", content: "Go.", source: "input" }],
		turn: (id, output) => [
			{
				role: "assistant",
				content: [
					{ type: "reasoning", reasoning: `Thought of ${id}.`, signature: signatureOf(id) },
					{ type: "text", text: "Let me see." },
				],
				tool_calls: [{ id, function: "look", arguments: {} }],
			},
			{ role: "tool", content: output, tool_call_id: id, function: "look" },
		],
		closing: [{ role: "user", content: "And?" }],
	},
	{
		format: "langchain",
		opening: [{ type: "human", content: "Go." }],
		turn: (id, output) => [
			{
				type: "ai",
				content: [
					{ type: "thinking", thinking: `Thought of ${id}.`, signature: signatureOf(id) },
					{ type: "text", text: "Let me see." },
				],
				tool_calls: [{ id, name: "look", args: {}, type: "tool_call" }],
			},
			{ type: "tool", content: output, tool_call_id: id, status: "success" },
		],
		closing: [{ type: "human", content: "And?" }],
	},
	{
		format: "pydantic-ai",
		opening: [{ kind: "request", parts: [{ part_kind: "user-prompt", content: "Go." }] }],
		turn: (id, output) => [
			{
				kind: "response",
				parts: [
					{ part_kind: "thinking", content: `Thought of ${id}.`, signature: signatureOf(id) },
					{ part_kind: "tool-call", tool_name: "look", args: {}, tool_call_id: id },
				],
			},
			{ kind: "request", parts: [{ part_kind: "tool-return", tool_name: "look", content: output, tool_call_id: id }] },
		],
		closing: [{ kind: "request", parts: [{ part_kind: "user-prompt", content: "And?" }] }],
	},
	{
		format: "goose",
		opening: [{ role: "user", content: [{ type: "text", text: "Go." }] }],
		turn: (id, output) => [
			{
				role: "assistant",
				content: [
					{ type: "thinking", thinking: `Thought of ${id}.`, signature: signatureOf(id) },
					{ type: "toolRequest", id, toolCall: { status: "success", value: { name: "look", arguments: {} } } },
				],
			},
			{
				role: "user",
				content: [
					{ type: "toolResponse", id, toolResult: { status: "success", value: [{ type: "text", text: output }] } },
				],
			},
		],
		closing: [{ role: "user", content: [{ type: "text", text: "And?" }] }],
	},
	{
		format: "opencode",
		opening: [{ info: { id: "msg_0", role: "user" }, parts: [{ type: "text", text: "Go." }] }],
		turn: (id, output) => [
			{
				info: { id: `msg_${id}`, role: "assistant" },
				parts: [
					{ type: "step-start" },
					{ type: "reasoning", text: `Thought of ${id}.`, metadata: { anthropic: { signature: signatureOf(id) } } },
					{ type: "tool", callID: id, tool: "look", state: { status: "completed", input: {}, output } },
					{ type: "step-finish" },
				],
			},
		],
		closing: [{ info: { id: "msg_z", role: "user" }, parts: [{ type: "text", text: "And?" }] }],
	},
];

/** Formats of which every message is a record that names the one before it. */
const recordRows: readonly (ThinkingRow & { readonly id: string; readonly parent: string })[] = [
	{
		format: "claude-code",
		id: "uuid",
		parent: "parentUuid",
		opening: [{ type: "user", sessionId: "s", message: { role: "user", content: "Go." } }],
		turn: (id, output) => {
			const message = { id: `msg-${id}`, type: "message", role: "assistant", model: "some-model" };
			const [thought, call] = anthropicAnswer(id);
			return [
				{ type: "assistant", sessionId: "s", message: { ...message, content: [thought] } },
				{ type: "assistant", sessionId: "s", message: { ...message, content: [call] } },
				{ type: "user", sessionId: "s", message: { role: "user", content: anthropicResult(id, output) } },
			];
		},
		closing: [{ type: "user", sessionId: "s", message: { role: "user", content: "And?" } }],
	},
	{
		format: "pi",
		id: "id",
		parent: "parentId",
		opening: [{ type: "message", message: { role: "user", content: [{ type: "text", text: "Go." }] } }],
		turn: (id, output) => [
			{
				type: "message",
				message: {
					role: "assistant",
					content: [
						{ type: "thinking", thinking: `Thought of ${id}.`, thinkingSignature: signatureOf(id) },
						{ type: "toolCall", id, name: "look", arguments: {} },
					],
				},
			},
			{
				type: "message",
				message: { role: "toolResult", toolCallId: id, toolName: "look", content: [{ type: "text", text: output }] },
			},
		],
		closing: [{ type: "message", message: { role: "user", content: [{ type: "text", text: "And?" }] } }],
	},
];

/** A conversation of a turn for each id, in every one of those formats. */
export function thinkingConversations(ids: readonly string[]): { format: string; messages: readonly unknown[] }[] {
	const write = ({ opening, turn, closing }: ThinkingRow) => [
		...opening,
		...ids.flatMap((id) => turn(id, outputOf(id))),
		...closing,
	];
	const session = { type: "session", version: 3, id: "s", cwd: "/" };
	return [
		...thinkingRows.map((row) => ({ format: row.format, messages: write(row) })),
		...recordRows.map((row) => {
			const records = linkRecords(write(row) as object[], row.id, row.parent);
			return { format: row.format, messages: row.format === "pi" ? [session, ...records] : records };
		}),
	];
}
