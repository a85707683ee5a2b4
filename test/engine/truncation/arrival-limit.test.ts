import { describe, expect, it } from "vitest";
import { arrivalLimit, limitOfCall } from "../../../src/engine/truncation/arrival-limit.ts";
import { policyOf } from "../../support/policy-of.ts";

const limitUnder = (thrift: "medium" | "low", command: string) =>
	limitOfCall(
		{ toolName: "bash", input: JSON.stringify({ command }), chars: 20_000 },
		arrivalLimit(policyOf({ preset: "balanced", mask: { thrift } })),
	);

describe("The limit of a command's output", () => {
	it("is the low one where the command reports what it did", () => {
		expect(limitUnder("medium", "npm test")).toBe(4_000);
		expect(limitUnder("medium", "git commit -m x")).toBe(4_000);
	});

	it("is that of files where the command was run to be shown something", () => {
		expect(limitUnder("medium", "git diff")).toBe(16_000);
		expect(limitUnder("medium", "gh pr view 7")).toBe(16_000);
		expect(limitUnder("medium", "git pull && cat a.ts")).toBe(16_000);
	});

	it("is that of files with thrift low", () => {
		expect(limitUnder("low", "npm test")).toBe(16_000);
	});
});
