import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { replayedPolicies } from "../../../src/pipeline/replay/replayed-policy.ts";
import type { PolicyLayer } from "../../../src/policy/schema.ts";
import { policyOf } from "../../support/policy-of.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const maskOf = async (name: string, configured: readonly PolicyLayer[] = []) =>
	(await replayedPolicies(name, configured))[0]?.policy.mask;

describe("a name", () => {
	it("alone is the policy that the evidence is measured with", async () => {
		expect(await maskOf("window:8")).toEqual(policyOf({ mask: { window_turns: 8 } }).mask);
		const stride = { window_turns: 8, cadence: "stride", stride_turns: 10 } as const;
		expect(await maskOf("stride:10")).toEqual(policyOf({ mask: stride }).mask);
		expect(await maskOf("break_even:5")).toEqual(policyOf({ mask: { window_turns: 5, cadence: "break_even" } }).mask);
		const [balanced] = await replayedPolicies("balanced", []);
		expect(balanced?.policy).toEqual(policyOf({ preset: "balanced" }));
		expect(await maskOf("balanced:low")).toEqual(policyOf({ preset: "balanced", mask: { thrift: "low" } }).mask);
	});

	it("keeps what is configured, but for what it says itself", async () => {
		const configured: PolicyLayer[] = [
			{ preset: "balanced", mask: { window_turns: 3, thrift: "high", keep_tokens: 100, tools: { ls: "never" } } },
			{ mask: { keep_errors: false, digest_tokens: 30 } },
		];
		expect(await maskOf("window:8", configured)).toMatchObject({
			window_turns: 8,
			selection: "age",
			cadence: "every_turn",
			keep_tokens: null,
			keep_errors: false,
			digest_tokens: 30,
			tools: { ls: "never" },
		});
		expect(await maskOf("balanced", configured)).toMatchObject({ window_turns: 5, thrift: "high", keep_tokens: 100 });
		expect(await maskOf("observation-masking", configured)).toMatchObject({ selection: "age", cadence: "every_turn" });
	});
});

it("a list is read in order, each name once", async () => {
	const policies = await replayedPolicies(" raw,optimum:3, window:3,raw", []);
	expect(policies.map(({ name, kind }) => [name, kind])).toEqual([
		["raw", "raw"],
		["optimum:3", "optimum"],
		["window:3", "replayed"],
	]);
});

describe("a policy file", () => {
	let folder: string;
	beforeAll(async () => {
		folder = await scratchFolder();
		await writeFile(join(folder, "my.toml"), 'preset = "balanced"\n[mask]\nwindow_turns = 2\n');
		await writeFile(join(folder, "my.json"), '{"mask": {"window_turns": 4}}');
		await writeFile(join(folder, "bad.json"), '{"mask": {"windw_turns": 4}}');
		await writeFile(join(folder, "none.json"), "{");
	});

	it("stands alone, whatever is configured", async () => {
		const configured = [{ mask: { keep_errors: false, window_turns: 9 } }];
		expect(await maskOf(join(folder, "my.toml"), configured)).toEqual(
			policyOf({ preset: "balanced", mask: { window_turns: 2 } }).mask,
		);
		expect(await maskOf(join(folder, "my.json"), configured)).toEqual(policyOf({ mask: { window_turns: 4 } }).mask);
	});

	it.each([
		["bad.json", "invalid_policy", /windw_turns: .*window_turns/],
		["none.json", "invalid_json", /none\.json is not valid/],
		["absent.json", "unreadable_file", /absent\.json: there is no such file/],
		["absent.toml", "unreadable_file", /absent\.toml: there is no such file/],
	])("%s is refused", async (name, code, words) => {
		const error = await replayedPolicies(join(folder, name), []).catch((thrown: unknown) => thrown);
		expect(error).toMatchObject({ code, message: expect.stringMatching(words) });
	});
});
