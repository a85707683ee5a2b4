import {
	type AcceptedRequest,
	bindingBeta,
	type CheckedRequest,
	createPreservedThinking,
	type PreservedThinking,
} from "./preserved-thinking.ts";

export type Json = Record<string, unknown>;
/** A message of a request. */
export type Message = { role: string; content: string | Json[] };

const model = "claude-opus-5-5";
export const tools: Json[] = [
	{ name: "Bash", input_schema: { type: "object" } },
	{ name: "Read", input_schema: { type: "object" } },
];
export const request = (messages: readonly Message[], rest: Json = {}): Json => {
	return { model, system: "Be brief.", tools, messages, thinking: { type: "adaptive" }, ...rest };
};
export const drops = { thinking: { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } } };

/** A session whose answers are a thought and a call; nothing is left out of what it sends. */
export function startSession(account: "older" | "newer" = "newer", rest: Json = {}) {
	const check = createPreservedThinking({ account });
	const messages: Message[] = [{ role: "user", content: "Look." }];
	let turn = 0;
	const answer = (sent: readonly Message[] = messages, more: Json = {}) => {
		turn += 1;
		const accepted = acceptedOf(check.check(request(sent, { ...rest, ...more }), [bindingBeta]));
		const content = check.issue(accepted, [
			{ type: "thinking", thinking: `Thought ${turn}.`, tokens: 100 },
			{ type: "tool_use", id: `toolu_${turn}`, name: "Bash", input: { command: `cat ${turn}` } },
		]);
		const result = { type: "tool_result", tool_use_id: `toolu_${turn}`, content: `output ${turn}` };
		return [
			{ role: "assistant", content },
			{ role: "user", content: [result] },
		];
	};
	const play = (turns: number) => {
		for (let count = 0; count < turns; count += 1) messages.push(...answer());
		return messages;
	};
	return { check, messages, answer, play };
}

export function acceptedOf(checked: CheckedRequest): AcceptedRequest {
	if (checked.kind === "refused") throw new Error(checked.refusal.message);
	return checked;
}

/** The 400 that a request gets; nothing if it is accepted. */
export function refusalOf(
	check: PreservedThinking,
	messages: readonly Message[],
	rest: Json = {},
	betas = [bindingBeta],
) {
	const checked = check.check(request(messages, rest), betas);
	return checked.kind === "refused" ? checked.refusal : undefined;
}

export const message = (messages: readonly Message[], turn: number) => messages[2 * turn - 1] as Message;
/** The same conversation without the thinking of these turns. */
export const without = (messages: readonly Message[], ...turns: readonly number[]): Message[] =>
	messages.map((one, index) => {
		if (one.role !== "assistant" || !turns.includes((index + 1) / 2)) return one;
		return { ...one, content: (one.content as Json[]).filter(({ type }) => type !== "thinking") };
	});
/** The same conversation with another result in this turn. */
export const withResult = (messages: readonly Message[], turn: number, content: unknown): Message[] =>
	messages.map((one, index) => {
		return turn > 0 && index === 2 * turn ? { ...one, content: [{ ...(one.content as Json[])[0], content }] } : one;
	});

/** The refusal of the API for a changed message, with the beta header. */
export const bound = (path: string) =>
	`${path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`;

export function user(content: string): Message {
	return { role: "user", content };
}
