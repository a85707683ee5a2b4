import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { placeholderReader, writePlaceholder } from "../../../src/engine/masking/placeholder.ts";
import { localeNames } from "../../../src/engine/policy/names.ts";
import type { Policy } from "../../../src/engine/policy/schema.ts";
import { type Originals, wordings } from "../../../src/engine/policy/wordings.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { placeholderReaderOf } from "../../../src/storage/restore/recognise.ts";
import { policyOf } from "../../support/policy-of.ts";
import { digestOf } from "./digests.ts";

const countTokens = await loadCounter("o200k_base");

const digest = (text: string, maxTokens = 50, before = "") => digestOf({ text, maxTokens, countTokens, before });

describe("a digest", () => {
	it("gives the outcome, then identifiers", () => {
		const text = "FAILED src/order.ts totalPrice\n=== 2 failed, 31 passed in 4.2s ===\n\nCommand exited with code 1";
		expect(digest(text)).toBe("exit 1, 2 failed, 31 passed, totalPrice src/order.ts");
	});

	it("puts repeated identifiers first, then short ones", () => {
		expect(digest("aLongIdentifier shortName otherShort aLongIdentifier aLongIdentifier")).toBe(
			"aLongIdentifier shortName otherShort",
		);
	});

	it("omits identifiers of earlier messages", () => {
		expect(digest("firstName secondName", 50, "firstName")).toBe("secondName");
	});

	it("is empty without identifiers or room", () => {
		expect(digest("it was all right, and nothing else")).toBe("");
		expect(digest("firstName secondName", 0)).toBe("");
		expect(digest(`${"aVeryLongName".repeat(5)} x`, 1)).toBe("");
	});

	it("reads 200 000 characters at both ends", () => {
		const far = "x ".repeat(100_000);
		expect(digest(`firstName ${far}${far}middleName ${far}${far}lastName`)).toBe("lastName firstName");
		expect(digest(`${far.slice(0, -12)}middleName ${far}`)).toBe("middleName");
	});

	it("has at most 2000 characters with a separator after each name", () => {
		const name = (number: number, length: number) => `aB${number}`.padEnd(length, "x");
		const names = Array.from({ length: 24 }, (_, number) => name(number + 10, 79));
		const shown = (last: string) => digest([...names, last].join(" "), 10_000).split(" ");
		expect(shown(name(34, 79))).toHaveLength(25);
		expect(shown(name(34, 80))).toHaveLength(24);
	});

	it("names the error that a program ended with", () => {
		const text = "Traceback (most recent call last):\n  File \"a.py\", line 3, in load_orders\nKeyError: 'id'";
		expect(digest(text)).toBe("KeyError, a.py load_orders");
	});

	it("gives an exit code only after a failure, and each count once, with its last value", () => {
		expect(digest("1 passed\n2 passed\n<returncode>0</returncode>")).toBe("2 passed");
		expect(digest("<returncode>0</returncode>\n<output>fine</output>")).toBe("");
	});
});

const seen = { full: 0, empty: 0, cut: 0 };

const words = fc.constantFrom(
	"totalPrice",
	"src/a/b.ts",
	"https://a.b/c?d=1",
	"E404",
	"#12345",
	"deadbeef1",
	"[x](y)<z>{0}",
	"3 failed",
	"Exit code 5",
	"\n",
	"🦊\u2028",
	"\ud83d",
	"ein_Wort",
);

test.prop([fc.array(words, { maxLength: 60 }), fc.integer({ min: 0, max: 80 })], { numRuns: 1_000 })(
	"never exceeds its tokens, has no line breaks or brackets, and is always the same",
	(all, maxTokens) => {
		const text = all.join(" ");
		const found = digest(text, maxTokens);
		expect(countTokens(found)).toBeLessThanOrEqual(Math.max(0, maxTokens));
		expect(found).not.toMatch(/[[\](){}<>\r\n\u2028]|,$|^\s|\s$/);
		expect(digest(text, maxTokens)).toBe(found);
		expect(text.isWellFormed() || found.isWellFormed()).toBe(true);
		if (found === "") seen.empty += 1;
		else if (found.length < digest(text, 10_000).length) seen.cut += 1;
		else seen.full += 1;
	},
);

afterAll(() => {
	expect(Math.min(seen.full, seen.empty, seen.cut)).toBeGreaterThan(20);
});

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

	it("has its own wording in each locale, with the recall hint after it", () => {
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

	it("is the usual placeholder without a digest", () => {
		for (const locale of localeNames) {
			for (const originals of kinds) {
				const { digestPlaceholder, ...others } = wordings(policyOf({ locale }), originals);
				const plain = writePlaceholder(others, { ...values, ref });
				expect(writePlaceholder({ ...others, digestPlaceholder }, { ...values, ref, digest: "" })).toBe(plain);
				expect(plain).not.toContain("{");
			}
		}
	});

	it("uses a custom template that asks for it, with a dash for an empty one", () => {
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

	it("is not recognised by its opening only: brackets, line breaks or too long a digest", () => {
		const readDigest = placeholderReader(["(has={digest})"]);
		const isPlaceholder = (text: string) => readDigest(text) !== undefined;
		expect(isPlaceholder(`(has=${"a".repeat(2_000)})`)).toBe(true);
		for (const digest of ["a\nb", "a)b", "a]b", "a".repeat(2_001), "a".repeat(1_000_000)]) {
			expect(isPlaceholder(`(has=${digest})`)).toBe(false);
		}
		expect(placeholderReader(["{ref} {digest}"])(`${ref} a b`)).toMatchObject({ ref });
	});
});
