import { describe, expect, it } from "vitest";
import { readBlock } from "../../src/engine/compaction/provider-block.ts";
import { type CompactionEnd, compactionBeta } from "./compaction-on-demand.ts";
import { startStandInProvider } from "./stand-in-provider.ts";
import { createStrictMessages } from "./stand-in-thinking.ts";

type Json = Readonly<Record<string, unknown>>;

const base = { model: "claude-opus-5-5", max_tokens: 4096, tools: [{ name: "Read" }], system: "Work." };

/** A session against the strict API: each turn has thinking, a call and its result. */
function session(ends: readonly CompactionEnd[] = []) {
	const api = createStrictMessages({ account: "newer", compaction: { ends } });
	let number = 0;
	const send = (body: Json, betas = [compactionBeta]) => api.receive({ ...base, ...body }, betas);
	const turn = (messages: readonly Json[], change: Json = {}) => {
		const received = send({ messages, ...change });
		if (received.kind === "refused") throw new Error(received.refusal.message);
		number += 1;
		const { content } = received.answer({
			number,
			answer: { kind: "call", turn: number, tool: "Read", input: { path: `f${number}` } },
		});
		const { id } = content.at(-1) as Json;
		const result = { type: "tool_result", tool_use_id: id, content: `File ${number}` };
		return [...messages, { role: "assistant", content }, { role: "user", content: [result] }] as Json[];
	};
	const turns = (messages: readonly Json[], count: number): Json[] =>
		Array.from({ length: count }).reduce<Json[]>((before) => turn(before), [...messages]);
	const compact = (messages: readonly Json[], at: number, change: Json = {}) => {
		const received = send({ ...change, messages: messages.slice(0, at), compaction: { type: "summarize" } });
		if (received.kind === "refused") throw new Error(received.refusal.message);
		const { content, compaction } = received.answer({ number, answer: { kind: "text", text: "" } });
		return readBlock({ content, stop_reason: compaction?.reason });
	};
	const blockOf = (messages: readonly Json[], at: number, change: Json = {}) => {
		const read = compact(messages, at, change);
		if (read.kind === "none") throw new Error(read.reason);
		return read.message as Json;
	};
	return { send, turn, turns, compact, blockOf };
}

const task = { role: "user", content: "Read the files." };

describe("a block of the provider in place of the first messages", () => {
	it("keeps all reasoning of the turns behind it, also of those that came meanwhile, and through a second block", () => {
		const { turns, turn, send, blockOf } = session();
		const five = turns([task], 5);
		const block = blockOf(five, 5);
		const seven = turns(five, 2);
		const swapped = [block, ...seven.slice(5)];
		expect(send({ messages: swapped })).toMatchObject({ kind: "accepted", findings: { sent: 5, dropped: 0, lost: 0 } });
		const later = turns(swapped, 3);
		const second = blockOf(later, 5);
		const again = [second, ...later.slice(5)];
		expect(send({ messages: turn(again) })).toMatchObject({ kind: "accepted", findings: { dropped: 0, lost: 0 } });
	});

	it.each<[string, (messages: Json[], block: Json) => { readonly messages: Json[]; readonly change?: Json }]>([
		[
			"a kept message was changed",
			(kept, block) => ({
				messages: [
					block,
					{ ...kept[0], content: [...([kept[0]?.content].flat() as Json[]), { type: "text", text: "x" }] },
					...kept.slice(1),
				],
			}),
		],
		["a message stands between", (kept, block) => ({ messages: [block, { role: "user", content: "x" }, ...kept] })],
		["a kept message is left out", (kept, block) => ({ messages: [block, ...kept.slice(2)] })],
		["the system prompt is another", (kept, block) => ({ messages: [block, ...kept], change: { system: "Play." } })],
	])("makes it invalid where %s", (_, change) => {
		const { turns, send, blockOf } = session();
		const five = turns([task], 5);
		const { messages, change: fields = {} } = change(five.slice(5), blockOf(five, 5));
		const refused = send({ messages, ...fields });
		expect(refused).toMatchObject({
			kind: "refused",
			refusal: { message: expect.stringContaining("different conversation") },
		});
	});

	it("makes it invalid where the first kept message has the role of the last summarised one, or another model wrote it", () => {
		const { turns, send, blockOf } = session();
		const five = turns([task, { role: "user", content: "And say why." }], 5);
		expect(send({ messages: [blockOf(five, 1), ...five.slice(1)] })).toMatchObject({ kind: "refused" });
		const older = blockOf(five, 4, { model: "claude-opus-4-7" });
		expect(send({ messages: [older, ...five.slice(4)] })).toMatchObject({ kind: "refused" });
	});

	it("binds what is thought behind it to itself", () => {
		const { turns, turn, send, blockOf } = session();
		const five = turns([task], 5);
		const thought = turn([blockOf(five, 5), ...five.slice(5)]);
		expect(send({ messages: [...five, ...thought.slice(-2)] })).toMatchObject({ kind: "refused" });
	});
});

describe("a request with a block, or for one", () => {
	it.each<[string, Json, readonly string[], string]>([
		[
			"without the beta header",
			{ compaction: { type: "summarize" } },
			[],
			`requires anthropic-beta: ${compactionBeta}`,
		],
		[
			"with edits of the context",
			{ compaction: { type: "summarize" }, context_management: { edits: [] } },
			[compactionBeta, "context-management-2025-06-27"],
			"context_management",
		],
		[
			"with stop sequences",
			{ compaction: { type: "summarize" }, stop_sequences: ["x"] },
			[compactionBeta],
			"stop_sequences",
		],
		[
			"with a forced tool",
			{ compaction: { type: "summarize" }, tool_choice: { type: "any" } },
			[compactionBeta],
			"tool_choice",
		],
		[
			"with a format",
			{ compaction: { type: "summarize" }, output_config: { format: {} } },
			[compactionBeta],
			"output_config.format",
		],
		[
			"with long instructions",
			{ compaction: { type: "summarize", instructions: "x".repeat(16_385) } },
			[compactionBeta],
			"16384",
		],
		["with an unknown field", { compaction: { type: "summarize", keep: 3 } }, [compactionBeta], "compaction.keep"],
		[
			"of an older model",
			{ compaction: { type: "summarize" }, model: "claude-opus-4-5" },
			[compactionBeta],
			"does not support",
		],
	])("is refused %s", (_, change, betas, words) => {
		const { send } = session();
		const refused = send({ messages: [task], ...change }, [...betas]);
		expect(refused).toMatchObject({ kind: "refused", refusal: { message: expect.stringContaining(words) } });
	});

	it("is refused with a changed, a second, a misplaced block or one with fields of its own, and without the header", () => {
		const { turns, send, blockOf } = session();
		const five = turns([task], 5);
		const block = blockOf(five, 5) as { readonly content: readonly Json[] };
		const [inner] = block.content;
		const changed = (change: Json) => ({ ...block, content: [{ ...inner, ...change }] });
		const kept = five.slice(5);
		const refusal = (messages: readonly unknown[], betas = [compactionBeta]) => {
			const answer = send({ messages }, betas);
			return answer.kind === "refused" ? (answer.refusal.code ?? answer.refusal.message) : "accepted";
		};
		expect(refusal([changed({ content: "Mine." }), ...kept])).toBe("compaction_content_mismatch");
		expect(refusal([changed({ signature: "x" }), ...kept])).toBe("compaction_signature_invalid");
		expect(refusal([task, block, ...kept])).toBe("compaction_block_misplaced");
		expect(refusal([block, block, ...kept])).toContain("at most one");
		expect(refusal([changed({ citations: null }), ...kept])).toContain("citations: Extra inputs");
		expect(refusal([block, ...kept], [])).toContain("Input tag 'compaction'");
		expect(refusal([changed({ cache_control: { type: "ephemeral" } }), ...kept])).toBe("accepted");
	});

	it.each<CompactionEnd>(["max_tokens", "tool_use", "refusal", "end_turn", "model_context_window_exceeded"])(
		"has an answer without a block after %s",
		(end) => {
			const { turns, compact } = session([end]);
			expect(compact(turns([task], 3), 5)).toMatchObject({ kind: "none", reason: end });
		},
	);

	it("is billed in `iterations` alone, and answered whole in a stream", async () => {
		const provider = await startStandInProvider({
			script: { toolTurns: 1, fileChars: 10 },
			thinking: { account: "newer", compaction: { ends: [529] } },
		});
		try {
			const send = async (stream: boolean) => {
				const body = JSON.stringify({ ...base, messages: [task], compaction: { type: "summarize" }, stream });
				return fetch(`${provider.origin}/v1/messages`, {
					method: "POST",
					headers: { "anthropic-beta": compactionBeta },
					body,
				});
			};
			const busy = await send(false);
			expect([busy.status, await busy.json()]).toMatchObject([
				529,
				{ error: { details: { error_code: "compaction_unavailable" } } },
			]);
			const answer = (await (await send(false)).json()) as { usage: Json; stop_reason: string; content: Json[] };
			expect(answer).toMatchObject({
				stop_reason: "compaction",
				content: [{ type: "compaction" }],
				usage: {
					input_tokens: 0,
					output_tokens: 0,
					iterations: [{ type: "compaction", output_tokens: expect.any(Number) }],
				},
			});
			const text = await (await send(true)).text();
			expect(text).toContain('"content_block":{"type":"compaction","content":"## Task');
			expect(text).not.toContain("content_block_delta");
		} finally {
			await provider.close();
		}
	});
});
