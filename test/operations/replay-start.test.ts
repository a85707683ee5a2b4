import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import type { PolicyFigures } from "../../src/engine/replaying/report.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { estimateTokens } from "../../src/formats/tokens/estimate.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfModel, ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { policyOf } from "../support/policy-of.ts";
import { turnsOf } from "../support/replay-history.ts";

interface ChatMessage {
	readonly role: string;
	readonly content: string;
	readonly tool_calls?: unknown;
}

const lineOf = (result: number, line: number) => `result ${result} holds line ${line} for whoever needs it`;

/** Turns with results of different sizes; every few turns the agent repeats a line of an earlier result. */
function conversation(turns: number, back: number): ChatMessage[] {
	const outputs = Array.from({ length: turns }, (_, turn) =>
		Array.from({ length: 30 + ((turn * 7) % 30) * 6 }, (_, line) => lineOf(turn, line)).join("\n"),
	);
	const words = outputs.map((_, turn) => {
		const earlier = turn - 1 - ((turn * back) % 9);
		return earlier >= 0 && turn % 2 === 0 ? `I take\n${lineOf(earlier, turn % 5)}` : `Step ${turn} of ${turns}.`;
	});
	return turnsOf(outputs, words) as ChatMessage[];
}

const conversations = [
	{ file: "long", conversation: conversation(30, 5) },
	{ file: "middle", conversation: { messages: conversation(13, 3) } },
	{ file: "short", conversation: conversation(2, 1) },
];

const messagesOf = (one: (typeof conversations)[number]["conversation"]) => ("messages" in one ? one.messages : one);

// Without a reference, so that it is as long whether or not results are archived.
const layer: PolicyLayer = { locale: "en", mask: { placeholder_template: "[masked {tool_call_id}]" } };

const policy = policyOf(layer);

const names = "raw,window:2,stride:4:2,break_even:2,balanced:high";

async function run(more: Partial<Parameters<typeof startReplay>[0]> = {}, replayed = conversations) {
	const policies = await replayedPolicies(names, [layer]);
	const replay = await startReplay({ policy, policies, rates: ratesOfPrices(policy.prices), ...more });
	for (const one of replayed) await replay.add(one);
	return { report: replay.report(), series: replay.series(), policies };
}

const { report, policies } = await run({ contextWindow: 3_000 });

const countTokens = await loadCounter("o200k_base");
const messageTokens = (list: readonly ChatMessage[]) => sumTokens(list, "openai-chat", 4, countTokens);

/** The figures of a policy call by call: each beginning is masked by itself, as a session would have been. */
async function naively(messages: readonly ChatMessage[], index: number) {
	const one = policies[index] as (typeof policies)[number];
	const tokensOf = messageTokens;
	const sums = { calls: 0, input: 0, cached: 0, peak: 0, over: 0, used: 0, inView: 0, masked: 0 };
	let last: readonly ChatMessage[] = [];
	const masked = async (end: number) => {
		const beginning = messages.slice(0, end);
		if (one.name === "raw") return beginning;
		const { conversation, report } = await maskConversation({ conversation: beginning, policy: one.policy });
		sums.masked = report.masked_tool_results;
		return conversation as readonly ChatMessage[];
	};
	for (const [end, message] of messages.entries()) {
		if (message.role !== "assistant") continue;
		const sent = await masked(end);
		let same = 0;
		while (same < last.length && JSON.stringify(last[same]) === JSON.stringify(sent[same])) same += 1;
		const input = tokensOf(sent);
		sums.calls += 1;
		sums.input += input;
		sums.cached += tokensOf(sent.slice(0, same));
		sums.peak = Math.max(sums.peak, input);
		sums.over += input > 3_000 ? 1 : 0;
		const said = messages.slice(0, end).filter(({ role }) => role !== "tool");
		for (const line of message.content.split("\n").filter((text) => text.startsWith("result "))) {
			if (said.some(({ content }) => content.includes(line))) continue;
			sums.used += 1;
			sums.inView += sent.some(({ role, content }) => role === "tool" && content.includes(line)) ? 1 : 0;
		}
		last = sent;
	}
	await masked(messages.length);
	return { ...sums, billed: sums.cached * 0.1 + (sums.input - sums.cached) * 1.25 };
}

const named = (figures: readonly PolicyFigures[], name: string) =>
	figures.find(({ policy }) => policy === name) as PolicyFigures;

describe("the figures", () => {
	it.each([
		[0, "raw"],
		[1, "window:2"],
		[2, "stride:4:2"],
		[3, "break_even:2"],
		[4, "balanced:high"],
	])("of policy %i, %s, equal the figures of masking every prefix separately", async (index, name) => {
		const all: { naive: Awaited<ReturnType<typeof naively>>; figures: PolicyFigures }[] = [];
		for (const [place, one] of conversations.entries()) {
			const naive = await naively(messagesOf(one.conversation), index);
			const figures = named(report.files[place]?.policies ?? [], name);
			expect(figures).toMatchObject({
				conversations: 1,
				llm_calls: naive.calls,
				input_tokens: naive.input,
				cached_tokens: naive.cached,
				peak_context_tokens: naive.peak,
				calls_over_window: naive.over,
				calls_of_known_window: naive.calls,
				masked_tool_results: naive.masked,
			});
			expect(figures.billed).toBeCloseTo(naive.billed, 6);
			if (naive.used === 0) expect(figures.recall.lines).toBe(null);
			else expect(figures.recall.lines).toBeCloseTo(naive.inView / naive.used, 9);
			all.push({ naive, figures });
		}
		const sum = (key: "calls" | "input" | "billed" | "used" | "inView" | "masked") =>
			all.reduce((total, { naive }) => total + naive[key], 0);
		const raw = named(report.policies, "raw");
		const total = named(report.policies, name);
		expect(total.llm_calls).toBe(sum("calls"));
		expect(total.masked_tool_results).toBe(sum("masked"));
		expect(total.ratio_to_raw).toBeCloseTo(sum("billed") / raw.billed, 9);
		expect(total.worst_ratio_to_raw).toBe(Math.max(...all.map(({ figures }) => figures.ratio_to_raw)));
		expect(total.average_context_ratio).toBeCloseTo(sum("input") / raw.input_tokens, 9);
		expect(total.recall.lines).toBeCloseTo(sum("inView") / sum("used"), 9);
		expect(sum("used")).toBeGreaterThan(8);
		if (name === "raw") return;
		expect(sum("masked")).toBeGreaterThan(10);
		if (name !== "balanced:high") expect(sum("inView")).toBeLessThan(sum("used"));
	});

	it("have a least bill with as many faults, which none is below", () => {
		for (const { policy: name, bound_with_faults, ratio_with_faults } of report.policies) {
			expect(bound_with_faults, name).toBeGreaterThan(0);
			expect(bound_with_faults).toBeLessThanOrEqual((ratio_with_faults ?? 0) + 1e-9);
		}
	});

	it("bill each fault at the configured price, and the output", async () => {
		const prices = { ...policy.prices, fault: 2 * policy.prices.fault };
		const dear = (await run({ policy: policyOf({ ...layer, prices }) })).report;
		for (const name of ["window:2", "stride:4:2"]) {
			const [{ ratio_to_raw, ...plain }, doubled] = [named(report.policies, name), named(dear.policies, name)];
			const [once = 0, twice = 0] = [plain, doubled].map((one) => (one.ratio_with_faults ?? 0) - ratio_to_raw);
			expect(once).toBeGreaterThan(0.001);
			expect(once).toBeLessThan(ratio_to_raw);
			expect(twice).toBeCloseTo(2 * once, 9);
			expect(plain.billed_output).toBeCloseTo(plain.output_tokens * policy.prices.output, 3);
		}
	});

	it("have the placeholder of each policy", async () => {
		const own = (placeholder_template: string) => policyOf({ mask: { window_turns: 2, placeholder_template } });
		const wordy = { name: "wordy", kind: "replayed", policy: own("gone ".repeat(40)) } as const;
		const terse = { name: "terse", kind: "replayed", policy: own("gone") } as const;
		const { policies } = (await run({ policies: [wordy, terse] })).report;
		expect(named(policies, "terse").input_tokens).toBeLessThan(named(policies, "wordy").input_tokens);
	});

	it("of the offline benchmark equal the figures of one masking", async () => {
		for (const [index, one] of conversations.entries()) {
			const { report: masking } = await maskConversation({ conversation: one.conversation, policy });
			expect(report.files[index]).toMatchObject({
				file: one.file,
				masked_tool_results: masking.masked_tool_results,
				tool_chars_after: masking.tool_chars.after,
				tokens_before: masking.tokens.before,
			});
		}
		expect(report.masked_tool_results).toBe(22 + 5);
	});

	it("do not depend on the other policies", async () => {
		const alone = await replayedPolicies("stride:4:2", [layer]);
		const other = await run({ policies: alone, contextWindow: 3_000 });
		expect(other.report.policies).toEqual([named(report.policies, "stride:4:2")]);
	});

	it("have no window without a model", async () => {
		const { policies } = (await run()).report;
		for (const one of policies) expect(one).toMatchObject({ calls_over_window: 0, calls_of_known_window: 0 });
	});

	it("include only conversations with enough tool turns", async () => {
		const { report } = await run({ minTurns: 13 });
		expect(report.files.map(({ file }) => file)).toEqual(["long", "middle"]);
		expect(report.policies[0]?.conversations).toBe(2);
	});

	it("are estimated for a model without a public encoding, and billed in dollars", async () => {
		const model = "claude-sonnet-4-5";
		const { factor } = (await estimateTokens(model, undefined)).scale;
		expect(factor).toBeGreaterThan(1);
		const scaled = (await run({ model, rates: await ratesOfModel(model, policyOf().prices) })).report;
		for (const [index, plain] of report.policies.entries()) {
			const figures = scaled.policies[index] as PolicyFigures;
			// Nearly: the delimiters of messages are not scaled.
			expect(figures.input_tokens / (plain.input_tokens * factor)).toBeCloseTo(1, 1);
			expect(figures.calls_of_known_window).toBe(figures.llm_calls);
			const written = figures.input_tokens - figures.cached_tokens;
			expect(figures.billed).toBeCloseTo((figures.cached_tokens * 0.3 + written * 3.75) / 1e6, 4);
			expect(figures.ratio_to_raw).toBeCloseTo(plain.ratio_to_raw, 1);
		}
	});
});

describe("the series", () => {
	it("add up to the figures", async () => {
		const { report, series } = await run({ mostSeries: 5 });
		expect(series).toHaveLength(conversations.length * policies.length);
		for (const { file, policy, context, billed } of series) {
			const figures = named(report.files.find((one) => one.file === file)?.policies ?? [], policy);
			const inputs = context.map((parts) => Object.values(parts).reduce((sum, tokens) => sum + tokens, 0));
			expect(inputs.reduce((sum, tokens) => sum + tokens, 0)).toBe(figures.input_tokens);
			expect(Math.max(...inputs)).toBe(figures.peak_context_tokens);
			expect(billed).toHaveLength(figures.llm_calls);
			expect(billed.at(-1)).toBeCloseTo(figures.billed, 6);
		}
	});

	it("are kept for the conversations with the most calls, in their order, and only on request", async () => {
		const { series } = await run({ mostSeries: 2 });
		expect([...new Set(series.map(({ file }) => file))]).toEqual(["long", "middle"]);
		const { series: other } = await run({ mostSeries: 2 }, conversations.toReversed());
		expect([...new Set(other.map(({ file }) => file))]).toEqual(["middle", "long"]);
		expect((await run()).series).toEqual([]);
	});
});

it("input that is not a conversation is refused, and not counted", async () => {
	const replay = await startReplay({ policy, policies, rates: ratesOfPrices(policy.prices) });
	await expect(replay.add({ file: "odd", conversation: { text: "x" } })).rejects.toMatchObject({
		code: "not_a_conversation",
	});
	expect(replay.report()).toMatchObject({ masked_tool_results: 0, policies: [], files: [] });
});

it("without policies there are no figures, and nothing is drawn", async () => {
	const replay = await startReplay({ policy, policies: [], rates: ratesOfPrices(policy.prices), mostSeries: 1 });
	for (const one of conversations) expect(await replay.add(one)).toBe(true);
	expect(replay.report()).toMatchObject({
		policies: [],
		files: [{ file: "long" }, { file: "middle" }, { file: "short" }],
	});
	expect(replay.series()).toEqual([]);
	const few = await startReplay({ policy, policies, rates: ratesOfPrices(policy.prices), minTurns: 13 });
	expect(await Promise.all(conversations.map((one) => few.add(one)))).toEqual([true, true, false]);
});

it("the report has the sums of its files", () => {
	const { files } = report;
	for (const key of [
		"masked_tool_results",
		"tool_chars_before",
		"tool_chars_after",
		"tokens_before",
		"tokens_after",
	] as const) {
		expect(report[key]).toBe(files.reduce((sum, file) => sum + file[key], 0));
		expect(report[key]).toBeGreaterThan(0);
	}
});

describe("the pauses of a session", () => {
	/** With the seconds between its messages; mini-swe-agent records times so. */
	const timed = (messages: readonly ChatMessage[], secondsBefore: (index: number) => number) => {
		let at = 1_700_000_000;
		return messages.map((message, index) => {
			at += secondsBefore(index);
			return { ...message, extra: { timestamp: at } };
		});
	};
	const long = conversation(60, 5);
	const pauseBefore = long.findLastIndex(({ role }) => role === "assistant") - 1;
	const figuresWith = async (seconds: number) => {
		const messages = timed(long, (index) => (index === pauseBefore ? seconds : 1));
		const { policies: found } = (await run({}, [{ file: "timed", conversation: messages }])).report;
		return (name: string) => found.find((one) => one.policy === name) as PolicyFigures;
	};

	it("cost the writing of the expired cache, and pings cost their reads", async () => {
		const [paused, busy] = [await figuresWith(400), await figuresWith(1)];
		const raw = paused("raw");
		const never = busy("raw").billed;
		const last = messageTokens(long.slice(0, pauseBefore - 1));
		expect(last).toBeGreaterThan(20_000);
		expect(raw.pauses).toMatchObject({ expired_calls: 1, pings: 1 });
		expect((raw.pauses?.ratio_never_expired ?? 0) * raw.billed).toBeCloseTo(never, 3);
		expect((raw.pauses?.ratio_kept_warm ?? 0) * raw.billed).toBeCloseTo(never + last * 0.1 + 5, 3);
		expect((raw.pauses?.ratio_kept_warm ?? 0) * raw.billed).toBeLessThan(raw.billed);
		expect(busy("raw").pauses).toMatchObject({
			expired_calls: 0,
			pings: 0,
			ratio_never_expired: 1,
			ratio_kept_warm: 1,
		});
	});

	it("let a policy decide as if there were none where pings keep the cache", async () => {
		const [paused, busy] = [await figuresWith(400), await figuresWith(1)];
		const ofPaused = paused("break_even:2");
		const unpaused = busy("break_even:2").billed_with_faults;
		expect(ofPaused.pauses).toMatchObject({ expired_calls: 1 });
		expect((ofPaused.pauses?.ratio_never_expired ?? 0) * paused("raw").billed).toBeCloseTo(unpaused, 3);
	});

	it("are unknown where no times are on record", () => {
		for (const { pauses } of report.policies) expect(pauses).toBe(undefined);
	});
});
