import { describe, expect, it } from "vitest";
import { digestOf } from "../../src/engine/digest.ts";
import { placeholderReader, placeholderRecogniser, writePlaceholder } from "../../src/engine/placeholder.ts";
import { placeholderReaderOf } from "../../src/pipeline/placeholders-of.ts";
import { localeNames } from "../../src/policy/names.ts";
import type { Policy } from "../../src/policy/schema.ts";
import { type Originals, wordings } from "../../src/policy/wordings.ts";
import { policyOf } from "../support/policy-of.ts";

const values = { toolCallId: "call_1", toolName: "read_file", originalChars: 1234 };
const ref = "ku193re960gi257do532";
const digests = [
	undefined,
	"",
	"src/a.ts",
	"exit 1, 12 passed, 1 failed, src/a.ts totalPrice",
	"a [b] (c) {ref} <d>\n, ref=abc, mentions=x",
	"🦊".repeat(3_000),
	"\ud83d",
	"-",
];
const kinds: readonly Originals[] = ["not_archived", "archived", "recallable"];
const all = localeNames.flatMap((locale) =>
	kinds.flatMap((originals) => digests.map((digest) => ({ locale, originals, digest }))),
);
const other = { fr: "en", en: "zh", zh: "fr" } as const;

const write = (policy: Policy, originals: Originals, digest: string | undefined) =>
	writePlaceholder(wordings(policy, originals), {
		...values,
		digest,
		ref: originals === "not_archived" ? undefined : ref,
	});

describe("a placeholder with a digest", () => {
	it.each(all)("is recognised with its reference: $locale, $originals, $digest", ({ locale, originals, digest }) => {
		const written = write(policyOf({ locale }), originals, digest);
		const expected = { ref: originals === "not_archived" ? undefined : ref };
		for (const reading of [locale, other[locale]]) {
			const read = placeholderReaderOf(policyOf({ locale: reading }));
			expect(read(written)).toMatchObject(expected);
			expect(read(`${written}.`)).toBeUndefined();
			expect(read(` ${written}`)).toBeUndefined();
		}
	});

	it("is worded so in each locale, the recall hint behind it", () => {
		const digest = digestOf({ text: "src/a.ts totalPrice", maxTokens: 50, countTokens: (text) => text.length });
		expect(write(policyOf({ locale: "fr" }), "not_archived", digest)).toBe(
			"[Observation masquée: résultat d'outil ancien (tool_call_id=call_1, outil=read_file, chars=1234, mentions=src/a.ts totalPrice)]",
		);
		expect(write(policyOf({ locale: "en" }), "recallable", digest)).toBe(
			`[Observation masked: old tool result (tool_call_id=call_1, tool=read_file, chars=1234, ref=${ref}, mentions=src/a.ts totalPrice)] Intact, no error: read it with recall_original.`,
		);
		expect(write(policyOf({ locale: "zh" }), "archived", digest)).toBe(
			`历史 tool_call已隐藏 (ref=${ref}, 提及=src/a.ts totalPrice)`,
		);
	});

	it("is the placeholder as it ever was where there is no digest", () => {
		for (const locale of localeNames) {
			for (const originals of kinds) {
				const { digestPlaceholder, ...others } = wordings(policyOf({ locale }), originals);
				const plain = writePlaceholder(others, { ...values, ref });
				expect(writePlaceholder({ ...others, digestPlaceholder }, { ...values, ref, digest: "" })).toBe(plain);
				expect(plain).not.toContain("{");
			}
		}
	});

	it("stands in a template of one's own that asks for it, a dash where there is none", () => {
		const policy = policyOf({ mask: { placeholder_template: "gone ({digest})" } });
		const read = placeholderReaderOf(policy);
		for (const [digest, written] of [
			["src/a.ts", "gone (src/a.ts)"],
			[undefined, "gone (-)"],
		] as const) {
			expect(write(policy, "archived", digest)).toBe(written);
			expect(read(written)).toMatchObject({ ref: undefined });
		}
		const without = policyOf({ mask: { placeholder_template: "gone" } });
		expect(write(without, "archived", "src/a.ts")).toBe("gone");
	});

	it("does not pass for one by its opening: brackets, line breaks or too long a digest", () => {
		const isPlaceholder = placeholderRecogniser(["(has={digest})"]);
		expect(isPlaceholder(`(has=${"a".repeat(2_000)})`)).toBe(true);
		for (const digest of ["a\nb", "a)b", "a]b", "a".repeat(2_001), "a".repeat(1_000_000)]) {
			expect(isPlaceholder(`(has=${digest})`)).toBe(false);
		}
		expect(placeholderReader(["{ref} {digest}"])(`${ref} a b`)).toMatchObject({ ref });
	});
});
