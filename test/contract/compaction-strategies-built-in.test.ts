import { describe, expect, it } from "vitest";
import { splitFrames } from "../../src/engine/compaction/summary.ts";
import type { PresetName } from "../../src/engine/policy/names.ts";
import { presets } from "../../src/engine/policy/presets.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { compact } from "../../src/library.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, calls, type JsonMessage, openaiMessages, results, toolTurn, user } from "../support/script.ts";
import { handover, standInSummariser } from "../support/stand-in-summariser.ts";

const presetNames = Object.keys(presets) as PresetName[];
const policy: PolicyLayer = { preset: "tool-result-hiding" };
const hidden = "历史 tool_call已隐藏";
const turns = (count: number) =>
	Array.from({ length: count }, (_, index) => toolTurn(`call_${index}`, outputOf(`turn ${index}`))).flat();
const conversation = deepFreeze(openaiMessages(user("Go."), turns(8), assistant("So far."), user("On.")));

const contentsOf = (outcome: { readonly conversation: unknown }) => resultContents(outcome.conversation);

describe("`llm-summary` keeps the last 2 messages by default (docs/compaction.md#llm-summary)", () => {
	const strategy = "llm-summary" as const;

	it("puts one summary in the place of all but the task and the last 2 messages", async () => {
		const outcome = await compact(conversation, { policy, strategy, summariser: standInSummariser(), force: true });
		expect(outcome.conversation).toHaveLength(3);
		const [task, ...last] = outcome.conversation;
		const { own, frames } = splitFrames(task?.content as string);
		expect(own).toBe(conversation[0]?.content);
		expect(frames[0]?.summary).toBe(handover);
		expect(last).toEqual(conversation.slice(-2));
		for (const preset of presetNames) {
			const { keep_last_messages } = policyOf({ preset }).compaction;
			expect(keep_last_messages, preset).toBe(preset === "context-trim" ? 5 : 2);
		}
	});

	it("keeps a call and its results together: the group of the last 2 stays complete", async () => {
		const open = conversation.slice(0, -2);
		const { conversation: after } = await compact(open, { policy, strategy, summariser: standInSummariser() });
		expect(after.slice(-2)).toEqual(open.slice(-2));
		const odd = open.slice(0, -1).concat(openaiMessages(results({ id: "call_7", content: "x" }), user("?")));
		const kept = (await compact(odd, { policy, strategy, summariser: standInSummariser() })).conversation;
		expect(kept.slice(-3)).toEqual(odd.slice(-3));
	});
});

describe("`tool-result-hiding` keeps the last 5 groups (docs/compaction.md#tool-result-hiding)", () => {
	const hide = (messages: readonly JsonMessage[], more: PolicyLayer = {}) =>
		compact(messages, { policy: { ...policy, ...more }, strategy: "tool-result-hiding", force: true });

	it("replaces older results by the placeholder `历史 tool_call已隐藏` under their tool_call_id", async () => {
		const outcome = await hide(conversation);
		const expected = conversation.map((message) =>
			message.role === "tool" && ["call_0", "call_1", "call_2"].includes(String(message.tool_call_id))
				? { ...message, content: hidden }
				: message,
		);
		expect(outcome.conversation).toEqual(expected);
		expect(outcome.report).toMatchObject({ result: "hidden", masked_tool_results: 3 });
	});

	it("parallel tool calls are one group, kept or hidden together", async () => {
		const parallel = [
			calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
			results({ id: "b", content: outputOf("b") }, { id: "a", content: outputOf("a") }),
		];
		expect((await hide(openaiMessages(parallel, turns(4)))).report.result).toBe("unchanged");
		expect(contentsOf(await hide(openaiMessages(parallel, turns(5)))).slice(0, 3)).toEqual([
			hidden,
			hidden,
			outputOf("turn 0"),
		]);
	});

	it("errors are hidden too, under every preset", async () => {
		const failed = openaiMessages(toolTurn("failed", `Traceback\n${outputOf("trace")}`), turns(5));
		for (const preset of presetNames) expect((await hide(failed, { preset })).report.masked_tool_results).toBe(1);
	});

	it("returns the same conversation when nothing was replaced", async () => {
		const once = await hide(conversation);
		const twice = await hide(once.conversation);
		expect(twice.conversation).toBe(once.conversation);
		expect(twice).toMatchObject({ edits: [], report: { changed: false, result: "unchanged" } });
	});
});

describe("`hiding-then-summary` hides, and summarises once nothing is left to hide (docs/compaction.md#hiding-then-summary)", () => {
	it("hides in the first round, summarises in the second, and then changes nothing", async () => {
		const summariser = standInSummariser();
		const round = (messages: readonly JsonMessage[]) =>
			compact(messages, { policy, strategy: "hiding-then-summary", summariser, force: true });
		const first = await round(conversation);
		expect(first.report.result).toBe("hidden");
		expect(summariser.requests).toEqual([]);
		const second = await round(first.conversation as JsonMessage[]);
		expect(second.report.result).toBe("summarised");
		const third = await round(second.conversation as JsonMessage[]);
		expect(third.report.result).toBe("unchanged");
		expect(third.conversation).toBe(second.conversation);
		expect(summariser.requests).toHaveLength(1);
	});

	it("summarises at once without a tool result to hide", async () => {
		const talk = openaiMessages(...Array.from({ length: 9 }, (_, index) => assistant(outputOf(`${index}`))));
		const { report } = await compact(talk, { policy, summariser: standInSummariser(), force: true });
		expect(report).toMatchObject({ strategy: "hiding-then-summary", result: "summarised" });
	});
});

describe("The trigger: `token_count + reserved >= max_context_size`, or `force` (docs/compaction.md#trigger)", () => {
	const options = { policy, strategy: "tool-result-hiding" } as const;

	it("is due at the sum, and not one token below", async () => {
		const { report } = await compact(conversation, { ...options, contextWindow: 1e6 });
		expect(report).toMatchObject({ trigger: "not_due", result: "unchanged" });
		const tokens = report.tokens.before;
		const at = async (contextWindow: number) =>
			(await compact(conversation, { ...options, contextWindow, reserveTokens: 500 })).report;
		expect(await at(tokens + 500)).toMatchObject({ trigger: "tokens", result: "hidden" });
		expect(await at(tokens + 501)).toMatchObject({ trigger: "not_due", result: "unchanged" });
	});

	it("uses the policy's reserve when the call names none", async () => {
		const { report } = await compact(conversation, { ...options, contextWindow: 1e6 });
		expect(report.reserve_tokens).toBe(8_192);
		const window = report.tokens.before + 8_192;
		expect((await compact(conversation, { ...options, contextWindow: window })).report.trigger).toBe("tokens");
	});

	it("`force` runs it at once, with any window", async () => {
		const { report } = await compact(conversation, { ...options, contextWindow: 1e6, force: true });
		expect(report).toMatchObject({ trigger: "forced", result: "hidden" });
	});

	it("decides only when: strategies are not called before it is due", async () => {
		let asked = 0;
		const strategy = {
			compact() {
				asked += 1;
				return null;
			},
		};
		await compact(conversation, { policy, strategy, contextWindow: 1e6 });
		expect(asked).toBe(0);
		await compact(conversation, { policy, strategy, contextWindow: 1e6, force: true });
		expect(asked).toBe(1);
	});
});
