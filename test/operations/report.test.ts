import { describe, expect, it } from "vitest";
import { presetNames } from "../../src/engine/policy/names.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { reportContext, targetText } from "../../src/operations/report.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { policyOf } from "../support/policy-of.ts";
import { workingConversation } from "./working-conversation.ts";

const countTokens = await loadCounter("o200k_base");

const report = (conversation: unknown, given = {}) => reportContext({ conversation, layers: [], ...given });

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

describe("the contents of the window", () => {
	it("is reported by role, with the overhead of each request as the system's", async () => {
		const conversation = workingConversation();
		const tools = [{ type: "function", function: { name: "Read", description: "Reads a file." } }];
		const plain = await report(conversation);
		const withTools = await report({ ...conversation, tools });
		const outputs = conversation.messages.filter(({ role }) => role === "tool").map(({ content }) => content as string);
		expect(plain.messages).toBe(19);
		expect(plain.tool_turns).toBe(8);
		expect(plain.by_role.map(({ role, messages }) => [role, messages])).toEqual([
			["tool", 8],
			["assistant", 9],
			["user", 1],
			["system", 1],
		]);
		const shareOf = (role: string, { by_role } = plain) => by_role.find((one) => one.role === role);
		expect(shareOf("tool")?.tokens).toBe(sum(outputs.map((text) => countTokens(text) + 4)));
		expect(shareOf("tool")?.chars).toBe(sum(outputs.map((text) => text.length)));
		expect(shareOf("system")?.tokens).toBe(countTokens("You are careful.") + 4);
		const more = withTools.tokens - plain.tokens;
		expect(more).toBe(countTokens(JSON.stringify(tools)));
		const { tokens } = await report(conversation, { tools });
		expect(tokens).toBe(withTools.tokens);
		expect(shareOf("system", withTools)?.tokens).toBe((shareOf("system")?.tokens ?? 0) + more);
	});

	it("counts results in user messages as the tool's, and text next to them as the user's", async () => {
		const conversation = workingConversation("anthropic-messages");
		const { by_role, by_tool } = await report(conversation);
		expect(by_role.map(({ role, messages }) => [role, messages])).toEqual([
			["tool", 7],
			["assistant", 9],
			["user", 2],
			["system", 0],
		]);
		const user = by_role.find(({ role }) => role === "user");
		expect(user?.tokens).toBe(
			countTokens("Look through src, and mend what is broken.") + countTokens("Go on.") + 2 * 4,
		);
		const tool = by_role.find(({ role }) => role === "tool");
		expect(tool?.tokens).toBe(sum(by_tool.map(({ tokens }) => tokens)) + 7 * 4);
	});

	it.each(["tool-result-hiding", "balanced"] as const)(
		"is reported in parts, with the tokens of each tool that the policy %s frees",
		async (preset) => {
			const conversation = { messages: agentConversation(40) };
			const layers: PolicyLayer[] = [{ preset, mask: { thrift: "high" } }];
			const { by_part, masking, tokens, price_steps } = await reportContext({
				conversation,
				layers,
				model: "gpt-5.4",
				originals: "not_archived",
			});
			expect(sum(by_part.map((part) => part.tokens ?? 0))).toBe(tokens);
			const policy = policyOf(...layers);
			const masked = await maskConversation({ conversation, policy });
			const { before, after } = masked.report.tokens;
			expect(masking).toMatchObject({ freed_tokens: before - after, masked: masked.report.masked_tool_results });
			expect(before - after).toBeGreaterThan(1_000);
			const results = by_part.find(({ part }) => part === "tool_results");
			const freed = sum((results?.groups ?? []).map((group) => group.freed_tokens));
			expect(Math.abs(freed - (before - after))).toBeLessThanOrEqual(results?.groups.length ?? 0);
			expect(results?.groups.every((group) => group.freed_tokens <= group.tokens)).toBe(true);
			expect(price_steps).toEqual([272_000]);
			const off = await reportContext({ conversation, layers: [{ mask: { enabled: false } }] });
			expect(off.masking).toBeNull();
		},
	);

	it("is reported by tool, with the biggest results and their age, use and staleness", async () => {
		const { by_tool, biggest_results } = await report(workingConversation());
		expect(by_tool.map(({ tool, results }) => [tool, results])).toEqual([
			["Read", 4],
			["Bash", 2],
			["mcp__tracker__issue", 1],
			["Edit", 1],
		]);
		const rows = biggest_results.map((one) => [
			one.call_id,
			one.target,
			one.message,
			one.age_turns,
			one.used_since,
			one.stale,
		]);
		expect(rows.slice(0, 4).sort((a, b) => Number(a[2]) - Number(b[2]))).toEqual([
			["call_alpha", "/p/src/alpha.ts", 5, 6, true, false],
			["call_beta", "/p/src/beta.ts", 7, 5, false, true],
			["call_gamma", "/p/src/gamma.ts", 13, 2, false, false],
			["call_again", "/p/src/beta.ts", 15, 1, false, false],
		]);
		expect(rows.slice(4, 6)).toEqual([
			["call_test", "npm test", 11, 3, false, false],
			["call_issue", null, 17, 0, false, false],
		]);
		// It named the files that were read.
		expect(rows.find(([id]) => id === "call_list")).toEqual(["call_list", "ls /p/src", 3, 7, true, false]);
		expect(biggest_results.map(({ tokens }) => tokens)).toEqual(
			biggest_results.map(({ tokens }) => tokens).toSorted((a, b) => b - a),
		);
	});

	it("contains no text of the conversation, and at most ten results", async () => {
		const made = await report(agentConversation(30), { contextWindow: 20_000 });
		expect(made.biggest_results).toHaveLength(10);
		expect(JSON.stringify(made)).not.toContain(secret);
	});

	it("reads names and targets as text, on one line, and truncates them", async () => {
		const text = JSON.stringify(workingConversation()).replaceAll('"Read"', '"Re\\u001b[31mad\\nRow"');
		const { by_tool } = await report(JSON.parse(text));
		expect(by_tool[0]?.tool).toBe("Re 31mad Row");
		const nothing = { kind: "read", paths: [] } as const;
		const [esc, override] = ["\u001b", "\u202e"];
		const odd = `/p/${"deep/".repeat(60)}a${esc}]0;x\n${override}gamma.ts`;
		const target = targetText({ ...nothing, paths: [odd], command: "npm test" }) ?? "";
		expect(target).toHaveLength(120);
		expect(target).toMatch(/^…[deep/]+\/a \]0;x gamma\.ts$/);
		expect(targetText({ ...nothing, paths: ["a.ts", "b.ts"] })).toBe("a.ts, b.ts");
		expect(targetText({ ...nothing, paths: [esc] })).toBe(null);
		expect(targetText(nothing)).toBe(null);
	});

	it("is empty for a conversation without messages or tools", async () => {
		const empty = await report({ messages: [] });
		expect(empty).toMatchObject({ tokens: 0, messages: 0, by_role: [], by_tool: [], biggest_results: [] });
		expect(empty.presets.map(({ freed_tokens, fits }) => [freed_tokens, fits])).toEqual(Array(7).fill([0, null]));
		const talk = await report([{ role: "user", content: "Hello" }], { contextWindow: 20_000 });
		expect(talk).toMatchObject({ by_tool: [], biggest_results: [] });
		expect(talk.presets.every(({ freed_tokens, fits }) => freed_tokens === 0 && fits)).toBe(true);
	});
});

describe("the model and its window", () => {
	it("come from the caller, the body or the policy, or else from a session", async () => {
		const conversation = workingConversation();
		const layers = [{ guard: { model: "gpt-4.1" } }];
		expect((await report(conversation)).model).toBe(null);
		expect((await report(conversation)).context_window).toBe(null);
		expect((await report(conversation, { layers })).model).toBe("gpt-4.1");
		expect((await report({ ...conversation, model: "gpt-4o" }, { layers })).model).toBe("gpt-4o");
		const named = await report({ ...conversation, model: "gpt-4o" }, { layers, model: "gpt-4o-mini" });
		expect(named).toMatchObject({ model: "gpt-4o-mini", method: "exact", context_window: 128_000 });
		expect(named.budget_tokens).toBe(128_000 - 8_192);
	});

	it("may be given with a reserve, which then applies to each preset too", async () => {
		const made = await report(workingConversation(), { contextWindow: 30_000, reserveTokens: 27_000 });
		expect(made).toMatchObject({ context_window: 30_000, budget_tokens: 3_000 });
		for (const { preset, tokens_after, fits } of made.presets) {
			// That one takes no more than 80 % of the window, less the reserve.
			expect([preset, fits]).toEqual([preset, tokens_after <= (preset === "context-trim" ? -3_000 : 3_000)]);
		}
		expect(made.presets.map(({ fits }) => fits)).toContain(true);
		await expect(report([], { contextWindow: 0.5 })).rejects.toMatchObject({ code: "invalid_argument" });
		await expect(report([], { reserveTokens: -1 })).rejects.toMatchObject({ code: "invalid_argument" });
		await expect(report("text")).rejects.toMatchObject({ code: "not_a_conversation" });
	});

	it("scale the counts so that parts still add up", async () => {
		const made = await report(workingConversation(), { model: "claude-sonnet-4-5" });
		expect(made).toMatchObject({ method: "estimated", context_window: expect.any(Number) });
		const plain = await report(workingConversation());
		expect(made.tokens).toBeGreaterThan(plain.tokens);
		expect(sum(made.by_role.map(({ tokens }) => tokens))).toBe(made.tokens);
		const usage = { prompt_tokens: Math.round(plain.tokens * 1.5) };
		const calibrated = await report(workingConversation(), { usage });
		expect(calibrated.method).toBe("calibrated");
		expect(calibrated.tokens).toBeGreaterThan(plain.tokens * 1.4);
		expect(sum(calibrated.by_role.map(({ tokens }) => tokens))).toBe(calibrated.tokens);
	});
});

const layerOf = (name: string): PolicyLayer => {
	const [preset, thrift] = name.split(":");
	return { preset: preset as (typeof presetNames)[number], ...(thrift ? { mask: { thrift: thrift as "low" } } : {}) };
};

const names = [...presetNames.filter((name) => name !== "balanced"), "balanced:low", "balanced", "balanced:high"];

describe("the result of each preset on a conversation", () => {
	it.each([
		["a window that fits everything", 200_000],
		["a window that fits after masking", 12_000],
		["a window that fits only after dropping", 9_500],
		["a window that always overflows", 8_200],
	])("comes from mask when that is enough, else from guard: %s", async (_what, contextWindow) => {
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

	it("takes precedence over the configuration, and is empty when the policy forbids edits before tied reasoning", async () => {
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
