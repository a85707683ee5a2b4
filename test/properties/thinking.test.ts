import { createHash } from "node:crypto";
import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

interface Block {
	readonly type: string;
	readonly signature?: string;
}
interface Said {
	readonly role: string;
	readonly content: string | readonly Block[];
}

/** Binds a reasoning block to what was sent before it, as Claude does from 5.1 on. */
function signatureOf(sent: readonly Said[]): string {
	return createHash("sha256").update(JSON.stringify(sent)).digest("hex").slice(0, 16);
}

/** The messages with reasoning that a provider would refuse: its signature is of another prefix. */
function refused(sent: readonly Said[]): number[] {
	return sent.flatMap(({ content }, index) => {
		const signed = Array.isArray(content) ? content.flatMap(({ signature }: Block) => signature ?? []) : [];
		return signed.every((signature) => signature === signatureOf(sent.slice(0, index))) ? [] : [index];
	});
}

const signed = (said: Said | undefined) =>
	Array.isArray(said?.content) && said.content.some(({ type }: Block) => type === "thinking");

/** What a turn of a generated agent does. */
interface Turn {
	readonly lines: number;
	readonly calls: number;
	readonly name: string;
	readonly fails: boolean;
	readonly asks: boolean;
}
const turns: fc.Arbitrary<Turn> = fc.record({
	lines: fc.constantFrom(2, 10, 40, 120),
	calls: fc.integer({ min: 1, max: 2 }),
	name: fc.constantFrom("read", "grep", "ls"),
	fails: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
	asks: fc.integer({ min: 0, max: 4 }).map((number) => number === 0),
});

const masks: fc.Arbitrary<NonNullable<PolicyLayer["mask"]>> = fc.record({
	window_turns: fc.integer({ min: 1, max: 3 }),
	cadence: fc.constantFrom("every_turn", "stride", "stride", "break_even"),
	stride_turns: fc.integer({ min: 2, max: 5 }),
	selection: fc.constantFrom("age", "use"),
	keep_last_k_per_tool: fc.integer({ min: 0, max: 1 }),
	error_detection: fc.constantFrom("words", "structural"),
});
const guards: fc.Arbitrary<NonNullable<PolicyLayer["guard"]>> = fc.record({
	ladder: fc.constantFrom<("truncate" | "mask" | "drop")[]>(
		["truncate"],
		["mask"],
		["truncate", "mask"],
		["truncate", "mask", "drop"],
		["drop"],
	),
	truncate_when: fc.constantFrom("always", "over_budget"),
	target_ratio: fc.constantFrom(0.5, 0.7, null),
	keep_last_messages: fc.constantFrom(1, 4),
});

type Edit = (conversation: readonly Said[]) => Promise<{ readonly conversation: unknown; readonly error?: unknown }>;

const seen = { calls: 0, stripped: 0, kept: 0, lastKept: 0 };

/** Lets an agent run that sends what an edit makes of its history, and keeps that history or what it has sent. */
async function run(given: readonly Turn[], edit: Edit, { drops, keeps }: { drops: boolean; keeps: string }) {
	let history: Said[] = [{ role: "user", content: "Go." }];
	for (const [turn, { lines, calls, name, fails, asks }] of given.entries()) {
		const outcome = await edit(history);
		expect(outcome.error).toBeUndefined();
		const sent = outcome.conversation as readonly Said[];
		expect(refused(sent), `refused at turn ${turn}`).toEqual([]);
		seen.calls += 1;
		seen.kept += sent.filter(signed).length;
		seen.lastKept += signed(sent.findLast(({ role }) => role === "assistant")) ? 1 : 0;
		if (!drops) {
			for (const [index, said] of history.entries()) {
				if (!signed(said) || signed(sent[index])) continue;
				seen.stripped += 1;
				const [{ signature }] = said.content as [Block];
				expect(signature, `taken out for nothing at turn ${turn}`).not.toBe(signatureOf(sent.slice(0, index)));
			}
		}
		const ids = Array.from({ length: calls }, (_, index) => `call_${turn}_${index}`);
		const content = [
			{ type: "thinking", thinking: `Thought ${turn}.`, signature: signatureOf(sent) },
			...ids.map((id) => ({ type: "tool_use", id, name, input: { path: `${name}-${turn % 3}` } })),
		];
		const output = fails ? "Error: no such file or directory" : outputOf(`${name} ${turn}`, lines);
		const results = ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: output }));
		if (keeps === "answer") history = [...sent];
		history = [...history, { role: "assistant", content }, { role: "user", content: results }];
		if (asks) history = [...history, { role: "assistant", content: "Done." }, { role: "user", content: "More." }];
	}
}

const histories = fc.constantFrom("own", "own", "answer");
const conversations = fc.array(turns, { minLength: 4, maxLength: 16, size: "max" });

describe("strip_after_edit leaves exactly the reasoning that the provider accepts", () => {
	test.prop([conversations, masks, histories], { numRuns: numberOfCases(150) })(
		"of a masked conversation",
		async (given, mask, keeps) => {
			const policy = policyOf({ thinking: "strip_after_edit", mask });
			await run(given, (conversation) => maskConversation({ conversation, policy }), { drops: false, keeps });
		},
	);

	test.prop([conversations, masks, guards, fc.integer({ min: 600, max: 8_000 }), histories], {
		numRuns: numberOfCases(150),
	})("of a guarded conversation", async (given, mask, guard, contextWindow, keeps) => {
		const cut = { max_tool_result_chars: 600, truncate_head_chars: 200, truncate_tail_chars: 100, reserve_tokens: 0 };
		const policy = policyOf({ thinking: "strip_after_edit", mask, guard: { ...cut, ...guard } });
		const edit: Edit = (conversation) => guardConversation({ conversation, policy, contextWindow });
		await run(given, edit, { drops: guard.ladder?.includes("drop") ?? false, keeps });
	});

	test.prop([conversations, masks, histories], { numRuns: numberOfCases(100) })(
		"of a conversation with a model that binds it, where the policy says auto",
		async (given, mask, keeps) => {
			const policy = policyOf({ thinking: "auto", mask });
			const edit: Edit = async (messages) => {
				const conversation = { model: "claude-opus-5-5", messages };
				const outcome = await maskConversation({ conversation, policy });
				return { ...outcome, conversation: (outcome.conversation as typeof conversation).messages };
			};
			await run(given, edit, { drops: false, keeps });
		},
	);

	afterAll(() => {
		process.stderr.write(`Reasoning: ${JSON.stringify(seen)}\n`);
		expect(seen.stripped).toBeGreaterThan(leastOfCases(500));
		expect(seen.lastKept).toBeGreaterThan(leastOfCases(500));
	});
});
