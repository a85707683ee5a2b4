import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { presetNames } from "../../src/engine/policy/names.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { wordings } from "../../src/engine/policy/wordings.ts";
import { PalimpsestError } from "../../src/errors.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { modelOfSession } from "../../src/formats/model.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { policyOf } from "../support/policy-of.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

/** What is read of records is of no matter here, but where a model stands. */
const modelOf = (...records: readonly unknown[]) => {
	const source = readConversation([{ role: "user", content: "Hello." }]);
	return modelOfSession({ ...source, located: { ...source.located, messages: records } });
};

it.each<[string, unknown]>([
	["a message of Claude Code or pi", { type: "assistant", message: { role: "assistant", model: "m-1" } }],
	["an event of Copilot CLI", { type: "session.start", data: { model: "m-1" } }],
	["a turn of Codex", { type: "turn_context", payload: { model: "m-1" } }],
	["a message of opencode", { info: { modelID: "m-1" }, parts: [] }],
	["a record itself", { role: "assistant", model: "m-1" }],
])("is found in %s", (_what, record) => {
	expect(modelOf({ type: "user" }, record, "text", null)).toBe("m-1");
});

it("is the last named model, except for answers that Claude Code wrote itself", () => {
	const named = (model: unknown) => ({ message: { model } });
	expect(modelOf(named("m-1"), named("m-2"), named("<synthetic>"), named(7))).toBe("m-2");
	expect(modelOf(named("m-1"), {}, named("<synthetic>"))).toBe("m-1");
	expect(modelOf({ message: "text" }, { data: null })).toBe(undefined);
});

const clear = { kind: "clear", trigger: 30_000, keep: 3, atLeast: 5_000 };

const policyNamed = async (name: string) => (await replayedPolicies(name, []))[0];

describe("the name of a policy", () => {
	it.each<[string, PolicyLayer["mask"]]>([
		["raw", { enabled: false }],
		["window:8", { window_turns: 8, cadence: "every_turn" }],
		["break_even:1", { window_turns: 1, cadence: "break_even" }],
		["window:1000000", { window_turns: 1_000_000, cadence: "every_turn" }],
		["stride:10", { window_turns: 8, cadence: "stride", stride_turns: 10 }],
		["stride:10:3", { window_turns: 3, cadence: "stride", stride_turns: 10 }],
		["balanced", policyOf({ preset: "balanced" }).mask],
		["balanced:low", { thrift: "low" }],
		["balanced:high", { thrift: "high" }],
	])("%s is read", async (name, mask) => {
		const found = await policyNamed(name);
		expect(found).toMatchObject({ kind: "replayed", policy: { mask } });
	});

	it.each([
		["clear:30000:3:5000", clear],
		["clear-ours:30000:3:5000", clear],
		["clear:0:0:0", { kind: "clear", trigger: 0, keep: 0, atLeast: 0 }],
		["last:5:10", { kind: "last", keep: 5, every: 10 }],
		["opencode", { kind: "opencode" }],
		["gemini-cli", { kind: "gemini-cli" }],
	])("%s names a rival", async (name, rival) => {
		const found = await policyNamed(name);
		expect(found).toMatchObject({ kind: "rival", name });
		expect(found?.kind === "rival" && found.rival).toEqual(rival);
	});

	const uncut = { max_chars: 1_000_000_000, command_chars: null };
	const ofBalanced = { strategy: "auto" as const, max_chars: 16_000, command_chars: 4_000 };

	it.each<[string, PolicyLayer["truncate"], PolicyLayer["mask"]]>([
		["raw", uncut, { enabled: false }],
		["clear-ours:0:0:0", uncut, { enabled: true }],
		["balanced", ofBalanced, { thrift: "medium" }],
		["balanced:low", ofBalanced, { thrift: "low" }],
		["whole+balanced:low", uncut, { thrift: "low" }],
		["context-guard", { max_chars: 50_000, head_chars: 2_000 }, { enabled: false }],
		["arrival:8000", { strategy: "auto", max_chars: 8_000, command_chars: 8_000 }, { enabled: false }],
		["arrival:8000:2000+balanced", { ...ofBalanced, max_chars: 8_000, command_chars: 2_000 }, { enabled: true }],
		[
			"head_tail:9001+balanced",
			{ strategy: "head_tail", max_chars: 9_001, command_chars: null, head_chars: 4_501, tail_chars: 4_500 },
			{ enabled: true },
		],
		["arrival:8000+last:5:10", { max_chars: 8_000 }, { keep_errors: false }],
	])("%s gives the cuts on arrival", async (name, truncate, mask) => {
		expect((await policyNamed(name))?.policy).toMatchObject({ truncate, mask });
	});

	it.each(["./no.toml", "no.toml", "no.JSON", "no-policies/raw", "C:\\policies\\mine"])(
		"%s is the path of a file",
		async (name) => {
			await expect(policyNamed(name)).rejects.toMatchObject({ code: "unreadable_file" });
		},
	);

	it("each preset is a policy name", async () => {
		for (const preset of presetNames) {
			const { mask: _, ...own } = policyOf({ preset });
			expect((await policyNamed(preset))?.policy).toMatchObject(own);
		}
	});

	it.each([
		["balanced:provider", "medium"],
		["balanced:high:provider", "high"],
	] as const)("%s names a provider that clears", async (name, thrift) => {
		const { mask } = (await policyNamed(name))?.policy ?? policyOf();
		expect(mask).toMatchObject({ by: "provider", thrift, cadence: "break_even", placeholder_template: "[cleared]" });
	});

	it.each([
		["windw:8", /Did you mean window:8\?/],
		["break-evn:8", /Did you mean break_even:8\?/],
		["balnced", /Did you mean balanced\?/],
		["context_guard", /Did you mean context-guard\?/],
		["nothing-like-it", /^Unknown policy "nothing-like-it"\. Known: raw, window:N/],
		["", /^Unknown policy ""/],
		["window", /a number of tool turns, 1 or more, after window, as in window:8/],
		["window:0", /1 or more/],
		["window:-1", /1 or more/],
		["window:8.5", /1 or more/],
		["window:1e3", /1 or more/],
		["window:1000001", /1 or more/],
		["window:8:9", /1 or more/],
		["window:", /1 or more/],
		["stride", /stride:10, or stride:10:5 for a window of 5/],
		["stride:10:0", /stride:10:5/],
		["stride:1:2:3", /stride:10:5/],
		["raw:8", /raw masks nothing, and takes no number/],
		["balanced:medum", /expected low, medium, high after balanced/],
		["balanced:low:high", /expected low, medium, high after balanced/],
		["balanced:provider:low", /expected low, medium, high after balanced, and provider at the end/],
		["claer:30000:3:5000", /Did you mean clear:30000:3:5000\?/],
		["clear:30000:3", /expected three numbers after clear, .* as in clear:30000:3:5000/],
		["clear-ours:30000:3:x", /expected three numbers after clear-ours, /],
		["clear:30000:3:5000:1", /expected three numbers/],
		["clear:30000:3:-1", /expected three numbers/],
		["last:5", /expected two numbers after last, .* as in last:5:10/],
		["last:5:0", /expected two numbers after last/],
		["opencode:40000", /opencode takes no number/],
		["context-guard:low", /context-guard takes nothing after it/],
		["arrival", /expected after arrival the characters .* as in arrival:16000:4000/],
		["arrival:0", /expected after arrival/],
		["arrival:1:2:3", /expected after arrival/],
		["arrival:8000+windw:8", /Did you mean window:8\?/],
		["arrival:8000+", /^Unknown policy ""/],
		["head_tail:16000:4000", /expected after head_tail the characters .* as in head_tail:16000/],
		["balanced+raw", /Unknown policy "balanced\+raw"|after balanced/],
	])("%s is refused", (text, words) => {
		let error: unknown;
		try {
			replayedPolicies(text, []);
		} catch (thrown) {
			error = thrown;
		}
		expect(error).toBeInstanceOf(PalimpsestError);
		expect((error as PalimpsestError).code).toBe("invalid_argument");
		expect((error as PalimpsestError).message).toMatch(words);
	});

	it("a long one is not quoted completely", () => {
		expect(() => replayedPolicies("x".repeat(5_000), [])).toThrow(/^.{1,400}$/);
	});
});

const maskOf = async (name: string, configured: readonly PolicyLayer[] = []) =>
	(await replayedPolicies(name, configured))[0]?.policy.mask;

describe("a name", () => {
	it("alone means the policy that the evidence is measured with", async () => {
		expect((await maskOf("raw"))?.enabled).toBe(false);
		expect(await maskOf("window:8")).toEqual(policyOf({ mask: { window_turns: 8 } }).mask);
		const stride = { window_turns: 8, cadence: "stride", stride_turns: 10 } as const;
		expect(await maskOf("stride:10")).toEqual(policyOf({ mask: stride }).mask);
		expect(await maskOf("break_even:5")).toEqual(policyOf({ mask: { window_turns: 5, cadence: "break_even" } }).mask);
		const [balanced] = await replayedPolicies("balanced", []);
		expect(balanced?.policy).toEqual(policyOf({ preset: "balanced" }));
		expect(await maskOf("balanced:low")).toEqual(policyOf({ preset: "balanced", mask: { thrift: "low" } }).mask);
	});

	it("keeps the configured fields that it does not set", async () => {
		const configured: PolicyLayer[] = [
			{ preset: "balanced", mask: { window_turns: 3, thrift: "high", tools: { ls: "never" } } },
			{ mask: { keep_errors: false, digest_tokens: 30 } },
		];
		expect(await maskOf("window:8", configured)).toMatchObject({
			window_turns: 8,
			selection: "age",
			cadence: "every_turn",
			keep_errors: false,
			digest_tokens: 30,
			tools: { ls: "never" },
		});
		expect(await maskOf("balanced", configured)).toMatchObject({ selection: "use", thrift: "high" });
		expect(await maskOf("observation-masking", configured)).toMatchObject({ selection: "age", cadence: "every_turn" });
	});
});

describe("the name of a rival", () => {
	const maskRival = async (name: string) => {
		const configured: PolicyLayer = { locale: "fr", mask: { keep_errors: true, digest_tokens: 30 } };
		const [one] = await replayedPolicies(name, [configured]);
		return one?.policy;
	};

	it.each([
		["clear:30000:3:5000", "[cleared]"],
		["last:5:10", "Old environment output: (40 lines omitted)"],
		["opencode", "[Old tool result content cleared]"],
		["gemini-cli", expect.stringMatching(/^<tool_output_masked>\n/)],
	])("%s has its own placeholder, and keeps no errors", async (name, placeholder_template) => {
		expect((await maskRival(name))?.mask).toMatchObject({ keep_errors: false, digest_tokens: 0, placeholder_template });
	});

	it("clear-ours has the placeholder of balanced", async () => {
		const [ours, balanced] = [await maskRival("clear-ours:30000:3:5000"), await maskRival("balanced")];
		if (!ours || !balanced) throw new Error("no policy");
		expect(wordings(ours, "archived")).toEqual(wordings(balanced, "archived"));
		expect(ours.mask).toMatchObject({ keep_errors: false, digest_tokens: balanced.mask.digest_tokens });
	});
});

it("a list is read in order, each name once", async () => {
	const policies = await replayedPolicies(" raw,opencode, window:3,raw", []);
	expect(policies.map(({ name, kind }) => [name, kind])).toEqual([
		["raw", "replayed"],
		["opencode", "rival"],
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

	it("is used alone, without the configuration", async () => {
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
