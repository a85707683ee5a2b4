import { describe, expect, it } from "vitest";
import { openArchive } from "../../../src/archive/open.ts";
import { measure } from "../../../src/engine/measure.ts";
import { exactScale } from "../../../src/engine/token-scale.ts";
import type { Message } from "../../../src/engine/transcript.ts";
import { readConversation } from "../../../src/formats/read-conversation.ts";
import { guardConversation } from "../../../src/pipeline/guard-conversation.ts";
import { maskConversation } from "../../../src/pipeline/mask-conversation.ts";
import { contextReportOf } from "../../../src/pipeline/report/context-report-of.ts";
import { reportContext } from "../../../src/pipeline/report/report-context.ts";
import { presetNames } from "../../../src/policy/names.ts";
import type { PolicyLayer } from "../../../src/policy/schema.ts";
import { loadCounter } from "../../../src/tokens/load-counter.ts";
import { agentConversation } from "../../support/agent-conversation.ts";
import { policyOf } from "../../support/policy-of.ts";
import { workingConversation } from "./working-conversation.ts";

const layerOf = (name: string): PolicyLayer => {
	const [preset, thrift] = name.split(":");
	return { preset: preset as (typeof presetNames)[number], ...(thrift ? { mask: { thrift: thrift as "low" } } : {}) };
};
const names = [...presetNames.filter((name) => name !== "balanced"), "balanced:low", "balanced", "balanced:high"];

describe("what each preset would make of a conversation", () => {
	it.each([
		["a window that all fits", 200_000],
		["a window that masking makes it fit", 12_000],
		["a window that only dropping makes it fit", 9_500],
		["a window that nothing fits", 8_200],
	])("is what mask does where that is enough, else what guard does: %s", async (_what, contextWindow) => {
		const conversation = { messages: [...agentConversation(25), ...workingConversation().messages.slice(2)] };
		const archive = await openArchive({ where: "memory" });
		for (const given of [undefined, archive]) {
			const originals = given ? "archived" : "not_archived";
			const { presets } = await reportContext({ conversation, layers: [], contextWindow, originals });
			expect(presets.map(({ preset }) => preset)).toEqual(names);
			for (const outcome of presets) {
				const policy = policyOf(layerOf(outcome.preset));
				const what = { conversation, policy, archive: given } as const;
				const guarded = await guardConversation({ ...what, contextWindow });
				const masked = policy.mask.enabled ? await maskConversation(what) : undefined;
				const isEnough = masked && masked.report.tokens.after <= (guarded.report.budget_tokens ?? 0);
				const { report } = isEnough ? masked : guarded;
				const { tokens_after, freed_tokens, rewritten_tokens, ...counts } = outcome;
				const off = tokens_after - report.tokens.after;
				// A ref may share a token with what stands before it.
				expect(Math.abs(off)).toBeLessThanOrEqual(given ? (outcome.masked + outcome.truncated) / 10 : 0);
				expect(freed_tokens).toBe(report.tokens.before - tokens_after);
				expect(rewritten_tokens).toBe(report.economics.rewritten_tokens + off);
				expect(counts).toEqual({
					preset: outcome.preset,
					masked: report.masked_tool_results,
					truncated: report.truncated_tool_results,
					dropped: report.dropped_messages,
					fits: isEnough ? true : guarded.report.fits,
					calls_to_break_even: report.economics.calls_to_break_even,
				});
			}
		}
		await archive?.close();
	});

	it("stands over the configuration, and is nothing where the policy forbids edits before bound reasoning", async () => {
		const thinking = { type: "thinking", thinking: "So.", signature: "c2ln" };
		const { messages, system } = workingConversation("anthropic-messages") as {
			system: string;
			messages: { role: string; content: unknown }[];
		};
		const last = { role: "assistant", content: [thinking, { type: "text", text: "Mended." }] };
		const conversation = { system, messages: [...messages.slice(0, -1), last] };
		const report = (layers: PolicyLayer[]) => reportContext({ conversation, layers });
		const hiding = (made: Awaited<ReturnType<typeof report>>) =>
			made.presets.find(({ preset }) => preset === "tool-result-hiding");
		expect(hiding(await report([]))?.masked).toBe(2);
		expect(hiding(await report([{ mask: { window_turns: 3 } }]))?.masked).toBe(3);
		expect(hiding(await report([{ preset: "context-trim" }]))?.masked).toBe(2);
		expect(hiding(await report([{ thinking: "refuse" }]))).toMatchObject({ masked: 0, freed_tokens: 0 });
	});
});

it("takes steps in proportion to the conversation: each preset reads each message a few times", async () => {
	const loaded = await loadCounter("o200k_base");
	async function stepsOf(turns: number) {
		const steps = { characters: 0, reads: 0 };
		const countTokens = (text: string) => {
			steps.characters += text.length;
			return loaded(text);
		};
		const source = readConversation({ messages: agentConversation(turns) });
		const messages: readonly Message[] = new Proxy(source.transcript.messages, {
			get(target, key, receiver) {
				if (typeof key === "string" && /^\d+$/.test(key)) steps.reads += 1;
				return Reflect.get(target, key, receiver);
			},
		});
		const transcript = { ...source.transcript, messages };
		const meter = { countTokens, messageOverhead: 4 };
		const measurement = measure(transcript, meter);
		contextReportOf(
			{
				source: { ...source, transcript },
				transcript,
				measurement,
				meter,
				scale: exactScale,
				contextWindow: 10_000,
				originals: "archived",
			},
			{ model: undefined, method: "exact", notes: [], layers: [], last: {} },
		);
		return { ...steps, ofConversation: measurement.total.chars };
	}
	const [small, large] = [await stepsOf(40), await stepsOf(320)];
	expect(small.reads).toBeGreaterThan(40);
	expect(large.reads / small.reads).toBeLessThan(9);
	expect(large.characters / small.characters).toBeLessThan(9);
	// What the presets would write is counted beside it.
	expect(large.characters).toBeLessThan(4 * large.ofConversation);
});
