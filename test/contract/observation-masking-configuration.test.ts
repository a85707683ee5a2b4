import { describe, expect, it } from "vitest";
import { parsePolicyText, resolvePolicy } from "../../src/engine/policy/layers.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn } from "../support/script.ts";

const documentedFile = `
[observation_masking.schema1]
enabled = false
window_turns = 8
keep_errors = true
keep_last_k_per_tool = 0
placeholder_template = "[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]"
`;

describe("Configuration and offline figures (docs/strategies.md#configuration)", () => {
	it("reads `[observation_masking.schema1]` as an alias of `[mask]`", () => {
		const policy = resolvePolicy([parsePolicyText(documentedFile, "the documented file")]);
		expect(policy.mask).toMatchObject({
			enabled: false,
			window_turns: 8,
			keep_errors: true,
			keep_last_k_per_tool: 0,
			placeholder_template:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]",
		});
	});

	it("accepts the same field names under `[mask]`", () => {
		const policy = resolvePolicy([parsePolicyText("[mask]\nwindow_turns = 3\nkeep_errors = false", "a file")]);
		expect(policy.mask).toMatchObject({ window_turns: 3, keep_errors: false, enabled: true });
	});

	it("enabled = false changes nothing", async () => {
		const conversation = openaiMessages(
			...Array.from({ length: 12 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`))),
		);
		const policy = resolvePolicy([parsePolicyText(documentedFile, "the documented file")]);
		expect((await maskConversation({ conversation, policy })).conversation).toBe(conversation);
	});

	it("reports true figures: masked results, characters and tokens before and after (docs/measure.md#offline-figures)", async () => {
		const conversation = openaiMessages(
			...Array.from({ length: 5 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`))),
		);
		const policy = policyOf({ mask: { window_turns: 1 } });
		const { conversation: masked, report } = await maskConversation({ conversation, policy });
		const characters = (document: unknown) =>
			resultContents(document).reduce<number>((sum, content) => sum + String(content).length, 0);
		const countTokens = await loadCounter("o200k_base");
		const tokens = (document: unknown) => sumTokens(document, "openai-chat", 4, countTokens);
		expect(report.masked_tool_results).toBe(4);
		expect(report.tool_chars).toEqual({ before: characters(conversation), after: characters(masked) });
		expect(report.tokens).toEqual({ before: tokens(conversation), after: tokens(masked) });
		expect(report.tokens.after).toBeLessThan(report.tokens.before / 2);
	});

	it("masking twice equals masking once: a placeholder is never masked again", async () => {
		const conversation = openaiMessages(
			...Array.from({ length: 4 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`))),
		);
		const policy = policyOf({ mask: { window_turns: 1 } });
		const once = await maskConversation({ conversation, policy });
		const twice = await maskConversation({ conversation: once.conversation, policy });
		expect(twice.conversation).toBe(once.conversation);
		expect(twice.report.kept.already_masked).toBe(3);
	});
});
