import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { createConversationMemory } from "../../src/formats/conversation-memory.ts";
import { guardConversation } from "../../src/pipeline/guard-conversation.ts";
import { maskConversation } from "../../src/pipeline/mask-conversation.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";

const cloned = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));
const emptyMemory = () => createConversationMemory({ conversations: 4, chars: 1_000_000 });

/** Does to a document what a careless program might do to what it was given. */
function deface(value: unknown): void {
	if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
	for (const item of Object.values(value)) deface(item);
	if (Array.isArray(value)) value.push("defaced");
	else Object.assign(value, { defaced: true, text: "defaced", tokens: -1, chars: -1 });
}

interface Call {
	readonly tool: "mask" | "guard";
	readonly window: number;
	readonly budget: number;
	/** Messages of the conversation that have come by then, from the front. */
	readonly share: number;
}

async function call({ tool, window, budget }: Call, conversation: unknown, memory = emptyMemory()) {
	const policy = policyOf({
		media: "mask",
		mask: { window_turns: window },
		guard: { max_tool_result_chars: 2_000, truncate_head_chars: 300, truncate_tail_chars: 300, keep_last_messages: 2 },
	});
	if (tool === "mask") return maskConversation({ conversation, policy, memory });
	return guardConversation({ conversation, policy, memory, contextWindow: budget, reserveTokens: 0 });
}

function front(document: unknown, share: number): unknown {
	const copy = cloned(document) as unknown[] | { messages: unknown[] };
	const messages = Array.isArray(copy) ? copy : copy.messages;
	messages.splice(Math.max(1, Math.ceil(messages.length * share)));
	return copy;
}

describe("a conversation that was seen before", () => {
	let edits = 0;
	const oneCall: fc.Arbitrary<Call> = fc.record({
		tool: fc.constantFrom("mask", "guard"),
		window: fc.integer({ min: 1, max: 4 }),
		budget: fc.integer({ min: 100, max: 6_000 }),
		share: fc.double({ min: 0.3, max: 1, noNaN: true }),
	});
	test.prop([conversations, fc.array(oneCall, { minLength: 2, maxLength: 6 })], { numRuns: 250 })(
		"gets the answer that it gets the first time, whatever was done to earlier answers",
		async ({ document }, calls) => {
			const memory = emptyMemory();
			for (const one of calls) {
				const again = await call(one, front(document, one.share), memory);
				expect(again.error).toBeUndefined();
				expect(again).toEqual(await call(one, front(document, one.share)));
				edits += again.edits.length;
				deface(again.conversation);
				deface(again.edits);
				deface(again.report);
			}
		},
	);

	it("was edited in that property", () => {
		expect(edits).toBeGreaterThan(1_000);
	});

	let grown = 0;
	test.prop([conversations, oneCall, fc.integer({ min: 2, max: 6 })], { numRuns: 250 })(
		"gets that answer as it goes on, turn by turn",
		async ({ document }, one, steps) => {
			const memory = emptyMemory();
			let editsBefore = 0;
			for (let step = 1; step <= steps; step += 1) {
				const share = 0.4 + (0.6 * step) / steps;
				const again = await call(one, front(document, share), memory);
				expect(again).toEqual(await call(one, front(document, share)));
				if (editsBefore > 0 && again.edits.length > editsBefore) grown += 1;
				editsBefore = again.edits.length;
				deface(again.conversation);
				deface(again.edits);
				deface(again.report);
			}
		},
	);

	it("got more edits in that property", () => {
		expect(grown).toBeGreaterThan(100);
	});

	it("is the same where it was given in the same objects", async () => {
		const messages = [
			{ role: "system", content: "S" },
			{ role: "user", content: "The task." },
			{ role: "assistant", content: null, tool_calls: [{ id: "a", function: { name: "ls", arguments: "{}" } }] },
			{ role: "tool", tool_call_id: "a", content: [{ type: "text", text: "row ".repeat(900) }] },
			{ role: "assistant", content: null, tool_calls: [{ id: "b", function: { name: "ls", arguments: "{}" } }] },
			{ role: "tool", tool_call_id: "b", content: "row ".repeat(900) },
		];
		const memory = emptyMemory();
		const one: Call = { tool: "mask", window: 1, budget: 0, share: 1 };
		const first = await call(one, messages, memory);
		expect(first.edits).toHaveLength(1);
		(messages[3] as { content: unknown }).content = [{ type: "text", text: "line ".repeat(400) }];
		const second = await call(one, messages, memory);
		expect(second).toEqual(await call(one, cloned(messages)));
		expect(JSON.stringify(second.edits)).toContain("2000");
	});

	it("gets the digests that fit what is sent beside it now", async () => {
		const messages = Array.from({ length: 6 }, (_, turn) => [
			{ role: "assistant", content: null, tool_calls: [{ id: `c${turn}`, function: { name: "ls", arguments: "{}" } }] },
			{
				role: "tool",
				tool_call_id: `c${turn}`,
				content: `readValue${turn} src/parts/part_${turn}.ts ${"row ".repeat(400)}`,
			},
		]).flat();
		const policy = policyOf({ mask: { window_turns: 1, digest_tokens: 50 } });
		const tools = [
			{ type: "function", function: { name: "ls", description: "Lists src/parts/part_2.ts and readValue3." } },
		];
		const memory = emptyMemory();
		const placeholders: string[] = [];
		for (const document of [{ messages }, { tools, messages }, { messages }]) {
			const again = await maskConversation({ conversation: cloned(document), policy, memory });
			expect(again).toEqual(await maskConversation({ conversation: document, policy, memory: emptyMemory() }));
			placeholders.push(JSON.stringify(again.conversation));
		}
		expect(placeholders[0]).toContain("mentions=readValue3 src/parts/part_3.ts");
		expect(placeholders[1]).toContain("mentions=src/parts/part_3.ts");
		expect(placeholders[2]).toBe(placeholders[0]);
	});

	it("gets edits that tell its messages, where a record before them is a message now and was none", async () => {
		const turns = ["a", "b", "c"].flatMap((id) => [
			{
				role: "assistant",
				content: null,
				tool_calls: [{ id, type: "function", function: { name: "Shell", arguments: "{}" } }],
			},
			{ role: "tool", tool_call_id: id, content: "row ".repeat(900) },
		]);
		const session = (second: object) => [
			{ role: "_checkpoint", id: 0 },
			second,
			{ role: "user", content: "Go." },
			...turns,
		];
		const seen = session({ role: "_checkpoint", id: 1 });
		const changed = session({ role: "system", content: "Be brief." });
		for (const tool of ["mask", "guard"] as const) {
			const memory = emptyMemory();
			const one: Call = { tool, window: 1, budget: 100_000, share: 1 };
			expect((await call(one, seen, memory)).edits.map(({ message }) => message)).toContain(2);
			const again = await call(one, changed, memory);
			expect(again).toEqual(await call(one, changed));
			expect(again.edits.map(({ message }) => message)).toContain(3);
		}
	});
});
