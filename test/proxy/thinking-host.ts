import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { boundSignature, checkReasoning, type Said } from "../support/bound-reasoning.ts";
import { type RunningProxy, sendSettled } from "./played.ts";
import { outputOf } from "./sessions.ts";
import type { Received } from "./upstream.ts";

export type Json = Record<string, unknown>;
interface Block extends Json {
	readonly type: string;
	readonly signature?: string;
	readonly tool_use_id?: string;
	readonly content?: unknown;
}
interface Message {
	readonly role: string;
	readonly content: string | readonly Block[];
}
export interface Body extends Json {
	readonly messages: readonly Message[];
	readonly thinking?: { readonly block_binding?: unknown };
}

const blocksOf = (body: Body) =>
	body.messages.flatMap(({ content }) => (typeof content === "string" ? [] : [...content]));
export const thinkingOf = (body: Body) =>
	blocksOf(body).flatMap(({ signature }) => (signature === undefined ? [] : [signature]));
const resultsOf = (body: Body) =>
	new Map(blocksOf(body).flatMap(({ tool_use_id: id, content }) => (id === undefined ? [] : [[id, content] as const])));

/** What the API says of a block that is bound to another conversation (platform.claude.com, "Preserved thinking"). */
export const bindingRefusal = (message: number) => ({
	type: "invalid_request_error",
	message: `messages.${message}.content.0: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
});

export const beta = "thinking-binding-controls-2026-08-01";

/** A provider that answers each request with a thought and a call, and checks the thoughts of a request as `refuses` says. */
export function thinkingProvider(refuses: (body: Body, received: Received) => object | undefined = () => undefined) {
	const accepted: { readonly body: Body; readonly signature: string }[] = [];
	let refused = 0;
	return {
		accepted,
		refused: () => refused,
		answer(received: Received, response: ServerResponse): void {
			const body = JSON.parse(received.body.toString()) as Body;
			const error = refuses(body, received);
			if (error) refused += 1;
			const signature = boundSignature(body.messages as readonly Said[]);
			const isCount = received.path.includes("count_tokens");
			if (!error && !isCount) accepted.push({ body, signature });
			const number = accepted.length;
			const content = [
				{ type: "thinking", thinking: `Thought ${number}.`, signature },
				{ type: "tool_use", id: `toolu_01ThinkingSession${number}`, name: "bash", input: { command: `ls ${number}` } },
			];
			const usage = { input_tokens: 9, output_tokens: 9 };
			response.writeHead(error ? 400 : 200, { "Content-Type": "application/json" });
			response.end(
				JSON.stringify(error ? { type: "error", error } : isCount ? { input_tokens: 9 } : { content, usage }),
			);
		},
	};
}

/** Refuses a thought that does not fit what is sent before it, unless the request asks to leave such out. */
export function strict(body: Body): object | undefined {
	const [first] = checkReasoning(body.messages as readonly Said[]).refused;
	return first === undefined || body.thinking?.block_binding !== undefined ? undefined : bindingRefusal(first);
}

/** A host that keeps its whole history, with each thought as it came. */
export function startHost({
	model = "claude-fable-5-2",
	name = "one",
	more = {} as Json,
	key = "sk-secret-key-1",
} = {}) {
	const messages: Message[] = [{ role: "user", content: `Find the values of ${name}.` }];
	const body = () => JSON.stringify({ model, max_tokens: 1_000, thinking: { type: "adaptive" }, ...more, messages });
	const request = (path = "/v1/messages") => ({
		...{ method: "POST", path, body: body() },
		headers: { "Content-Type": "application/json", "X-Api-Key": key, "Anthropic-Beta": "context-1m" },
	});
	const asked: string[] = [];
	return {
		messages,
		/** Its requests that were answered, as it has sent them. */
		asked,
		request,
		/** One request and the result of the call in its answer. */
		async turn(proxy: RunningProxy, chars = 3_000) {
			const got = await sendSettled(proxy, request());
			if (got.status !== 200) return got;
			asked.push(body());
			const { content } = JSON.parse(got.body.toString()) as { content: readonly Block[] };
			const id = String(content.at(-1)?.id);
			const output = outputOf(messages.length, chars);
			messages.push({ role: "assistant", content });
			messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: output }] });
			return got;
		},
		async turns(proxy: RunningProxy, count: number, chars?: number) {
			for (let turn = 0; turn < count; turn += 1) expect((await this.turn(proxy, chars)).status).toBe(200);
		},
	};
}

/**
 * By what was sent alone: a thought has to go if a result before it has another form than in the request that produced
 * it, and what is gone stays so.
 */
export function expectRightBlocks(
	{ accepted }: ReturnType<typeof thinkingProvider>,
	{ asked }: ReturnType<typeof startHost>,
): number {
	expect(asked.length).toBe(accepted.length);
	const gone = new Set<string>();
	let left = 0;
	for (const [number, { body }] of accepted.entries()) {
		const sent = thinkingOf(body);
		for (const { body: producing, signature } of accepted.slice(0, number)) {
			const [before, now] = [resultsOf(producing), resultsOf(body)];
			// A host that has rewound does not bring it.
			if (!asked[number]?.includes(signature)) continue;
			if ([...before].some(([id, content]) => now.get(id) !== content)) gone.add(signature);
			expect([number, sent.includes(signature)]).toEqual([number, !gone.has(signature)]);
			if (gone.has(signature)) left += 1;
		}
	}
	return left;
}
