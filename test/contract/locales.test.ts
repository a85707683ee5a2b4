import { describe, expect, it } from "vitest";
import { localeNames, presetNames } from "../../src/engine/policy/names.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const conversation = openaiMessages(
	user("Go."),
	toolTurn("call_1", outputOf("one")),
	...Array.from({ length: 8 }, (_, index) => toolTurn(`call_${index}`, "ok")),
	toolTurn("large", textOfLength(60_000)),
);
const words = {
	fr: {
		placeholder: "[Observation masquée",
		short: "[masqué : ",
		marker: " caractères omis ...]",
		notice: "[Sortie abrégée : ",
	},
	en: {
		placeholder: "[Observation masked",
		short: "[masked ",
		marker: " characters truncated] ...",
		notice: "[Output shortened: ",
	},
	zh: { placeholder: "历史 tool_call已隐藏", short: "[已隐藏 ", marker: "... [已截断 ", notice: "[输出已缩短：" },
} as const;

describe("`locale` sets every placeholder, truncation marker and notice at once", () => {
	it.each(presetNames.flatMap((preset) => localeNames.map((locale) => ({ preset, locale }))))(
		"preset $preset in $locale",
		async ({ preset, locale }) => {
			const policy = policyOf({
				preset,
				locale,
				// All that is older than the window goes at once, whatever the preset would keep.
				mask: { enabled: true, cadence: "every_turn", selection: "age" },
				guard: { truncate_when: "always", reserve_tokens: 0 },
			});
			const masked = await maskConversation({ conversation, policy });
			const { short, placeholder } = words[locale];
			expect(resultContents(masked.conversation)[0]).toContain(preset === "balanced" ? short : placeholder);
			const { text } = await truncateText({ text: textOfLength(60_000), policy });
			// It cuts by what matters, and says so at the top.
			const ofPreset = preset === "balanced" ? words[locale].notice : words[locale].marker;
			expect(text).toContain(ofPreset);
			const guarded = await guardConversation({ conversation, policy, contextWindow: 1_000_000 });
			const trimsInFrench = preset === "context-trim" && locale === "fr";
			const marker = trimsInFrench ? "[... contenu tronqué ...]" : ofPreset;
			expect(resultContents(guarded.conversation).at(-1)).toContain(marker);
		},
	);

	it("`fr` is the default", () => {
		expect(policyOf().locale).toBe("fr");
	});

	it("a text masked in one locale is left unchanged by another", async () => {
		const once = await maskConversation({ conversation, policy: policyOf({ locale: "en" }) });
		const twice = await maskConversation({ conversation: once.conversation, policy: policyOf({ locale: "fr" }) });
		expect(resultContents(twice.conversation)[0]).toBe(resultContents(once.conversation)[0]);
	});

	it("every field can be overridden over a preset", () => {
		const policy = policyOf({
			preset: "tool-result-hiding",
			locale: "en",
			mask: { window_turns: 2, keep_errors: true },
		});
		expect(policy).toMatchObject({ locale: "en", mask: { enabled: true, window_turns: 2, keep_errors: true } });
	});
});
