import { describe, expect, it } from "vitest";
import type { PairedResult } from "../../../src/engine/conversation/turns.ts";
import { withDigest } from "../../../src/engine/masking/digest.ts";
import { maskResult } from "../../../src/engine/masking/mask-result.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { policyOf } from "../../support/policy-of.ts";
import { resultOf, transcriptOf } from "../../support/transcripts.ts";

const policy = policyOf({ locale: "en" });

const countTokens = (text: string) => text.length;

const pairedOf = (text: string): PairedResult => ({
	result: { ...resultOf("c1", text), whole: { path: ["content"], write: (written) => written } },
	message: 1,
	caller: 0,
	call: { id: "c1", name: "bash" },
});

const mask = (text: string, more: Partial<Parameters<typeof maskResult>[1]> = {}) =>
	maskResult(pairedOf(text), {
		policy: policy.mask,
		media: "keep",
		wording: wordings(policy),
		isPlaceholder: () => false,
		countTokens,
		...more,
	});

const written = (outcome: ReturnType<typeof mask>) => (typeof outcome === "string" ? outcome : outcome[0]?.replacement);

const plain = "[Observation masked: old tool result (tool_call_id=c1, tool=bash, chars=200)]";

describe("maskResult with a digest", () => {
	it("puts it into the placeholder", () => {
		const outcome = mask("x".repeat(200), { digest: ({ call }) => `exit 1, ${call?.name}.ts` });
		expect(written(outcome)).toBe(plain.replace(")]", ", mentions=exit 1, bash.ts)]"));
	});

	it("writes the usual placeholder without one", () => {
		expect(written(mask("x".repeat(200)))).toBe(plain);
		expect(written(mask("x".repeat(200), { digest: () => "" }))).toBe(plain);
	});

	it("omits it when only that makes the result smaller", () => {
		expect(written(mask("x".repeat(100), { digest: () => "aName" }))).toContain("mentions=aName");
		expect(written(mask("x".repeat(100), { digest: () => "aLongerName".repeat(5) }))).toBe(plain.replace("200", "100"));
		expect(written(mask("x".repeat(70), { digest: () => "aName" }))).toBe("not_smaller");
	});
});

describe("maskResult with a custom error rule", () => {
	it("keeps results that the rule reads as errors, when errors are kept", () => {
		const source = `setTimeout(run, 5); ${"x".repeat(200)}`;
		expect(written(mask(source))).toBe("error");
		expect(written(mask(source, { isError: () => false }))).toContain("chars=220");
		expect(written(mask("x".repeat(200), { isError: () => true }))).toBe("error");
		const keepNone = { policy: { ...policy.mask, keep_errors: false }, isError: () => true };
		expect(written(mask("x".repeat(200), keepNone))).toBe(plain);
	});
});

describe("withDigest", () => {
	const parameters = {
		policy: { ...policy.mask, digest_tokens: 20 },
		media: "keep",
		wording: wordings(policy),
		isPlaceholder: () => false,
		countTokens,
		transcript: transcriptOf(),
	} as const;

	it("makes digests where the policy asks for them and none are given", () => {
		const none = { ...parameters, policy: policy.mask };
		expect(withDigest(none)).toBe(none);
		const given = { ...parameters, digest: () => "own" };
		expect(withDigest(given)).toBe(given);
		expect(withDigest(parameters)).toEqual({ ...parameters, digest: expect.any(Function) });
	});
});
