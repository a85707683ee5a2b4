import { describe, expect, it } from "vitest";
import { reportContext } from "../../src/operations/report.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const conversation = agentConversation(20);

describe("the budget of a report", () => {
	it("is the window without the reserve of the call, or of the policy", async () => {
		const window = { contextWindow: 10_000, layers: [{ guard: { reserve_tokens: 500 } }] };
		const own = await reportContext({ conversation, ...window });
		expect(own).toMatchObject({ context_window: 10_000, budget_tokens: 9_500 });
		const ofCall = await reportContext({ conversation, ...window, reserveTokens: 1_000 });
		expect(ofCall).toMatchObject({ context_window: 10_000, budget_tokens: 9_000 });
	});

	it("fits exactly the counted tokens", async () => {
		const masked = async (window = {}) => {
			const { presets } = await reportContext({ conversation, layers: [], ...window });
			return presets.find(({ preset }) => preset === "observation-masking");
		};
		const { tokens_after: contextWindow = 0, ...rest } = (await masked()) ?? {};
		const fitting = { ...rest, tokens_after: contextWindow, fits: true };
		expect(await masked({ contextWindow, reserveTokens: 0 })).toEqual(fitting);
	});

	it("does not keep a preset that guards from truncating a long result", async () => {
		const long = openaiMessages(user("Go."), ...toolTurn("c", outputOf("c", 3_000)));
		const { presets } = await reportContext({ conversation: long, layers: [] });
		expect(presets.find(({ preset }) => preset === "context-guard")?.truncated).toBe(1);
	});

	it("is not known without a window", async () => {
		const { context_window, budget_tokens, presets } = await reportContext({ conversation, layers: [] });
		expect([context_window, budget_tokens]).toEqual([null, null]);
		expect(new Set(presets.map(({ fits }) => fits))).toEqual(new Set([null]));
	});

	it.each([5_000, 1_000])(
		"of nothing, with a reserve of %s, lets each preset change nothing",
		async (reserveTokens) => {
			const { presets } = await reportContext({ conversation, layers: [], contextWindow: 1_000, reserveTokens });
			for (const preset of presets) {
				expect(preset).toMatchObject({ fits: false, masked: 0, truncated: 0, dropped: 0, freed_tokens: 0 });
			}
		},
	);

	it.each([
		[-1, 100],
		[10_000, -1],
		[0, 100],
		[10_000, 0.5],
	])("is refused for a window of %s or a reserve of %s", async (contextWindow, reserveTokens) => {
		const request = reportContext({ conversation, layers: [], contextWindow, reserveTokens });
		await expect(request).rejects.toMatchObject({ code: "invalid_argument" });
	});
});

describe("a message of the user with a result", () => {
	it("counts as the tool's next to an empty text", async () => {
		const given = [
			{ role: "user", content: "Go." },
			{ role: "assistant", content: [{ type: "tool_use", id: "a", name: "look", input: {} }] },
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: "a", content: outputOf("a") },
					{ type: "text", text: "" },
				],
			},
		];
		const { by_role } = await reportContext({ conversation: given, layers: [] });
		expect(new Map(by_role.map(({ role, messages }) => [role, messages]))).toEqual(
			new Map([
				["tool", 1],
				["user", 1],
				["assistant", 1],
			]),
		);
	});
});

describe("the notes of a report", () => {
	it("say that a usage cannot be of the conversation", async () => {
		const { notes } = await reportContext({ conversation, layers: [], usage: { input_tokens: 100_000_000 } });
		expect(notes.join()).toContain("cannot belong to this conversation");
		expect((await reportContext({ conversation, layers: [] })).notes).toEqual([]);
	});
});

describe("a role without tokens", () => {
	it("is listed with its messages", async () => {
		const given = [
			{ role: "user", content: "" },
			{ role: "assistant", content: "Hello." },
		];
		const layers = [{ tokens: { message_overhead: 0 } }];
		const { by_role } = await reportContext({ conversation: given, layers });
		expect(by_role.map(({ role, tokens, messages }) => [role, tokens > 0, messages])).toEqual([
			["assistant", true, 1],
			["user", false, 1],
		]);
	});
});

describe("a preset that refuses to edit before bound reasoning", () => {
	const signed = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
	const bound = Array.from({ length: 14 }, (_, index) => [
		{ role: "assistant", content: [signed, { type: "tool_use", id: `c${index}`, name: "look", input: {} }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: `c${index}`, content: outputOf(`${index}`) }] },
	]).flat();

	it("changes nothing", async () => {
		const masks = async (thinking: "keep" | "refuse") => {
			const { presets } = await reportContext({
				conversation: [{ role: "user", content: "Go." }, ...bound],
				layers: [{ thinking }],
			});
			return presets.find(({ preset }) => preset === "observation-masking");
		};
		expect((await masks("keep"))?.masked).toBeGreaterThan(0);
		expect(await masks("refuse")).toMatchObject({ masked: 0, freed_tokens: 0, rewritten_tokens: 0 });
	});
});
