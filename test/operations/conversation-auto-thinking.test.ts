import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import type { SummarySource } from "../../src/operations/compaction-request.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { rescueConversation } from "../../src/operations/rescue.ts";
import { boundSignature, checkReasoning, type Said } from "../support/bound-reasoning.ts";
import { policyOf } from "../support/policy-of.ts";
import { reasoningSession } from "../support/reasoning-session.ts";
import { outputOf } from "../support/sample-text.ts";
import { handover } from "../support/stand-in-summariser.ts";

/** A session whose every request was sent as it is here, with a person's words at each fifth turn. */
function messagesOf(turns: number): Said[] {
	const messages: Said[] = [{ role: "user", content: "Go." }];
	for (let turn = 0; turn < turns; turn += 1) {
		if (turn % 5 === 4) messages.push({ role: "assistant", content: "Done." }, { role: "user", content: "Go on." });
		const thinking = { type: "thinking", thinking: `Thought ${turn}.`, signature: boundSignature(messages) };
		const call = { type: "tool_use", id: `c${turn}`, name: "look", input: { path: `src/${turn}` } };
		messages.push({ role: "assistant", content: [thinking, call] });
		const result = { type: "tool_result", tool_use_id: `c${turn}`, content: outputOf(`${turn}`) };
		messages.push({ role: "user", content: [result] });
	}
	return messages;
}

const opus = "claude-opus-5-5";
const old = "claude-opus-5";
const bodyOf = (model: string, turns = 12) => ({ model, messages: messagesOf(turns) });
const sentBy = (conversation: unknown) => (conversation as { messages: Said[] }).messages;

const auto = (layer: PolicyLayer = {}) => policyOf({ thinking: "auto", mask: { window_turns: 3 }, ...layer });

describe("thinking = auto", () => {
	it("removes reasoning that an edit made invalid, for a model that binds it", async () => {
		const { conversation, report } = await maskConversation({
			conversation: bodyOf("anthropic/claude-fable-5.2"),
			policy: auto({ mask: { window_turns: 3, cadence: "stride", stride_turns: 30 } }),
		});
		expect(report.masked_tool_results).toBe(0);
		expect(checkReasoning(sentBy(conversation)).valid).toHaveLength(12);

		const masked = await maskConversation({ conversation: bodyOf(opus), policy: auto(), idleSeconds: 0 });
		expect(masked.report.masked_tool_results).toBeGreaterThan(5);
		expect(masked.report.thinking).toMatchObject({ left: [] });
		expect(masked.report.thinking?.advice).toMatch(/^They were taken out, since the model/);
		expect(JSON.stringify(masked.conversation)).toContain("Thought 0.");
		expect(JSON.stringify(masked.conversation)).not.toContain("Thought 1.");
	});

	it("leaves it in for another model, and says why", async () => {
		for (const conversation of [bodyOf(old), messagesOf(12)]) {
			const { conversation: after, report } = await maskConversation({ conversation, policy: auto() });
			expect(report.thinking).toMatchObject({ stripped: 0, left: [] });
			expect(report.thinking?.advice).toMatch(/^They were left in, since the conversation names no model/);
			expect(JSON.stringify(after).split("Thought ")).toHaveLength(13);
		}
	});

	it("goes by the model of the call, and by the policy's where nothing else names one", async () => {
		const stripped = async (layer: PolicyLayer, model?: string) => {
			const policy = auto({ ...layer, guard: { ...layer.guard, ladder: ["mask"] } });
			const conversation = messagesOf(12);
			const { report } = await guardConversation({ conversation, policy, model, contextWindow: 12_000 });
			expect(report.masked_tool_results).toBeGreaterThan(0);
			return report.thinking?.stripped;
		};
		expect(await stripped({})).toBe(0);
		expect(await stripped({}, opus)).toBeGreaterThan(0);
		expect(await stripped({ guard: { model: opus } })).toBeGreaterThan(0);
		expect(await stripped({ guard: { model: opus } }, old)).toBe(0);
	});

	it("makes masking wait, since reasoning has a price", async () => {
		const messages = reasoningSession(Array.from({ length: 30 }, () => ({ thinking: 8_000, output: 30_000 })));
		const policy = policyOf({ preset: "balanced", prices: { thinking_redone: 1 } });
		const masked = async (model: string) => {
			const { report } = await maskConversation({ conversation: { model, messages }, policy });
			return report.masked_tool_results;
		};
		const unbound = await masked(old);
		expect(unbound).toBeGreaterThan(5);
		expect(await masked(opus)).toBeLessThan(unbound);
	});

	it("is the value of balanced", () => {
		expect(policyOf({ preset: "balanced" }).thinking).toBe("auto");
		expect(policyOf({}).thinking).toBeNull();
	});
});

/** The records of a session of Claude Code, one for each block of an answer. */
function recordsOf(model: string, turns = 12): unknown[] {
	let parentUuid: string | null = null;
	const records = messagesOf(turns).flatMap(({ role, content }, index) => {
		const parts = role === "assistant" && typeof content !== "string" ? content.map((block) => [block]) : [content];
		return parts.map((part, item) => {
			const uuid = `u${index}-${item}`;
			const answer = role === "assistant" ? { id: `msg_${index}`, model } : {};
			const message = { ...answer, role, content: part };
			const record = { parentUuid, uuid, isSidechain: false, sessionId: "s", type: role, version: "2.1.332", message };
			parentUuid = uuid;
			return record;
		});
	});
	return records;
}

const messagesIn = (records: unknown) =>
	(records as { message?: Said }[]).flatMap(({ message }) => (message ? [message] : []));

const given: SummarySource = { kind: "given", summary: handover, token: undefined };

describe("a session that a program resumes", () => {
	it.each<[string, PolicyLayer, number]>([
		["masked", { preset: "balanced" }, 0.9],
		["masked by another preset", {}, 0.9],
		["dropped", { preset: "context-guard" }, 0.14],
	])("is valid after a rescue, %s", async (_, layer, share) => {
		const conversation = recordsOf(opus);
		expect(checkReasoning(messagesIn(conversation))).toMatchObject({ refused: [] });
		const rescued = await rescueConversation({
			conversation,
			policy: policyOf(layer),
			contextWindow: 8_000,
			target: share,
		});
		expect(rescued.error).toBeUndefined();
		expect(rescued.report.changed).toBe(true);
		expect(checkReasoning(messagesIn(rescued.conversation)).refused).toEqual([]);
		expect(rescued.report.thinking?.stripped).toBeGreaterThan(0);
	});

	it("keeps the reasoning before the first edit", async () => {
		const [first, ...others] = recordsOf(opus) as { message: Said }[];
		const { conversation } = await rescueConversation({
			conversation: [first, ...others],
			policy: policyOf({ preset: "balanced" }),
			contextWindow: 12_000,
			target: 0.9,
		});
		expect(checkReasoning(messagesIn(conversation)).valid.length).toBeGreaterThan(0);
	});

	it.each<[string, string, PolicyLayer]>([
		["summarised", "llm-summary", {}],
		["hidden", "tool-result-hiding", {}],
		["hidden by balanced", "hiding-then-summary", { preset: "balanced" }],
	])("is valid after a compaction, %s", async (_, name, layer) => {
		for (const [conversation, read] of [
			[recordsOf(opus), messagesIn],
			[bodyOf(opus), sentBy],
		] as const) {
			const compacted = await compactConversation({
				conversation,
				policy: policyOf(layer),
				strategy: { kind: "built_in", name: name as "llm-summary" },
				answer: name === "llm-summary" ? given : { kind: "caller" },
				force: true,
			});
			expect(compacted.error).toBeUndefined();
			expect(compacted.report.changed).toBe(true);
			expect(checkReasoning(read(compacted.conversation)).refused).toEqual([]);
		}
	});

	it("keeps all reasoning where the policy or the model says so", async () => {
		const refused = async (model: string, layer: PolicyLayer) => {
			const policy = policyOf(layer);
			const conversation = recordsOf(model);
			const rescued = await rescueConversation({ conversation, policy, contextWindow: 8_000, target: 0.9 });
			expect(rescued.report.masked_tool_results).toBeGreaterThan(0);
			return checkReasoning(messagesIn(rescued.conversation)).refused.length;
		};
		expect(await refused(opus, { thinking: "keep" })).toBeGreaterThan(5);
		expect(await refused(old, {})).toBeGreaterThan(5);
		expect(await refused(opus, {})).toBe(0);
	});
});
