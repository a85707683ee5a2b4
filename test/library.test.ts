import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import type * as Library from "../src/index.ts";
import { guardConversation } from "../src/operations/guard.ts";
import { maskConversation } from "../src/operations/mask.ts";
import { truncateText } from "../src/operations/truncate.ts";
import { agentConversation, secret } from "./support/agent-conversation.ts";
import { packageFolder } from "./support/built-cli.ts";
import { deepFreeze } from "./support/deep-freeze.ts";
import { policyOf } from "./support/policy-of.ts";
import { textOfLength } from "./support/sample-text.ts";

// The built package, as its users import it.
const built: typeof Library = await import(resolve(packageFolder, "dist/index.js"));
const { mask, guard, truncate, count, PalimpsestError } = built;

const frozenBody = () =>
	deepFreeze({ model: "gpt-4o", messages: agentConversation(10), tools: [{ type: "function" }] });

it("exports everything its users need", () => {
	const names = ["PalimpsestError", "count", "guard", "mask", "policySchema", "truncate"];
	expect(Object.keys(built)).toEqual(expect.arrayContaining(names));
});

describe("mask", () => {
	it("returns the pipeline's result, and never changes its input", async () => {
		const conversation = frozenBody();
		const policy = { locale: "en", mask: { window_turns: 4 } } as const;
		const outcome = await mask(conversation, { policy });
		expect(outcome).toEqual(await maskConversation({ conversation, policy: policyOf(policy) }));
		expect(outcome.report.masked_tool_results).toBe(6);
		expect(outcome.error).toBeUndefined();
	});

	it("shares every unedited part with its input", async () => {
		const conversation = frozenBody();
		const { conversation: masked, edits } = await mask(conversation);
		const touched = new Set(edits.map((edit) => edit.message));
		expect(touched.size).toBe(2);
		expect(masked).not.toBe(conversation);
		expect(masked.tools).toBe(conversation.tools);
		masked.messages.forEach((message, index) => {
			if (!touched.has(index)) expect(message).toBe(conversation.messages[index]);
		});
		const unchanged = await mask(conversation, { policy: { mask: { enabled: false } } });
		expect(unchanged.conversation).toBe(conversation);
	});

	it("hints at the way that `recallHint` names, and `restore` with the same hint undoes it", async () => {
		const archive = await built.openArchive({ where: "memory" });
		if (!archive) throw new Error("Expected an archive.");
		const options = { archive, policy: { locale: "en" }, recallHint: "`app read {ref}`" } as const;
		const conversation = frozenBody();
		const { conversation: masked } = await mask(conversation, options);
		const [, ref, hinted] =
			/ref=(\w+)\)\](?: Intact, no error: read it with `app read (\w+)`\.)/.exec(JSON.stringify(masked)) ?? [];
		expect([ref, hinted]).toEqual([expect.stringMatching(/^\w{8,}$/), ref]);
		const { archive: _, ...rest } = options;
		expect((await built.restore(masked, archive, rest)).conversation).toEqual(conversation);
		expect((await mask(masked, options)).conversation).toBe(masked);
		const without = await mask(conversation, { ...options, recallHint: undefined });
		expect(JSON.stringify(without.conversation)).not.toContain("Intact");
		const { text } = await truncate(textOfLength(60_000), options);
		expect(text).toContain("ref=");
	});

	it("logs only to the given log", async () => {
		const events: Library.LogEvent[] = [];
		await mask(frozenBody(), { log: (event) => events.push(event) });
		expect(events).toMatchObject([{ level: "info", data: { event: "masked", results: 2 } }]);
		expect(JSON.stringify(events)).not.toContain(secret);
	});
});

describe("guard", () => {
	it("returns the pipeline's result, and never changes its input", async () => {
		const conversation = frozenBody();
		const policy = { preset: "context-guard" } as const;
		const outcome = await guard(conversation, { policy, contextWindow: 3_000, reserveTokens: 200 });
		const request = { conversation, policy: policyOf(policy), contextWindow: 3_000, reserveTokens: 200 };
		expect(outcome).toEqual(await guardConversation(request));
		expect(outcome.report).toMatchObject({ fits: true, budget_tokens: 2_800 });
		expect(outcome.conversation.messages).toHaveLength(outcome.report.messages.after);
		const newest = outcome.conversation.messages.at(-1);
		expect(newest).toBe(conversation.messages.at(-1));
	});

	it("reads the model from an option or the request body", async () => {
		expect((await guard(frozenBody())).report.context_window).toBe(128_000);
		const { report } = await guard(frozenBody(), { model: "gpt-4.1" });
		expect(report.context_window).toBeGreaterThan(900_000);
	});

	it("accepts tools and usage", async () => {
		const messages = agentConversation(3);
		const { report: bare } = await guard(messages, { contextWindow: 9_000 });
		const { report } = await guard(messages, { contextWindow: 9_000, tools: [{ name: "ls" }] });
		expect(report.tokens.after).toBeGreaterThan(bare.tokens.after);
		const usage = { input_tokens: bare.tokens.after };
		expect((await guard(messages, { contextWindow: 9_000, usage })).report.method).toBe("calibrated");
	});
});

it("truncate returns the pipeline's result", async () => {
	const text = textOfLength(9_000);
	const policy = { preset: "context-trim" } as const;
	const cut = await truncate(text, { policy, maxChars: 8_500 });
	expect(cut).toEqual(await truncateText({ text, policy: policyOf(policy), maxChars: 8_500 }));
	expect(cut.report).toMatchObject({ truncated: true, chars: { before: 9_000 } });
	expect(await truncate(text)).toMatchObject({ text, report: { truncated: false } });
	const lines = Array.from({ length: 900 }, (_, index) => `value${index} is one of many lines`).join("\n");
	const options = { maxTokens: 300, strategy: "focus", focus: "where is value500" } as const;
	const focused = await truncate(lines, options);
	expect(focused).toEqual(await truncateText({ text: lines, policy: policyOf(), ...options }));
	expect(focused.report).toMatchObject({ truncated: true, strategy: "focus", lines: { before: 900 } });
	expect(focused.report.tokens.after).toBeLessThanOrEqual(300);
	expect(focused.text).toContain("\nvalue500 is");
});

it("counts the tokens of a text, exactly when possible", async () => {
	expect(await count("hello world")).toEqual({
		tokens: 2,
		low: 2,
		high: 2,
		encoding: "o200k_base",
		method: "exact",
		factor: 1,
		notes: [],
	});
	expect(await count("hello world", { model: "claude-opus-4-8" })).toMatchObject({ method: "estimated", high: 4 });
	expect(await count("hello", { encoding: "cl100k_base" })).toMatchObject({ encoding: "cl100k_base", method: "exact" });
	await expect(count(7 as never)).rejects.toMatchObject({ code: "invalid_argument" });
	const unknown = { code: "invalid_argument", message: expect.stringContaining("o200k_base, cl100k_base") };
	await expect(count("hello", { encoding: "cl100k" as never })).rejects.toMatchObject(unknown);
});

describe("errors", () => {
	const messages = agentConversation(1);
	const withOutput = (content: object) => [...messages, { role: "tool", tool_call_id: "none", content }];
	const ring: Record<string, unknown> = { [secret]: secret };
	ring.itself = ring;
	const throwing = () => {
		throw new TypeError(secret);
	};
	const loose = built as unknown as Record<"mask" | "guard" | "truncate", (...values: unknown[]) => Promise<unknown>>;

	it.each<[string, () => unknown, string, RegExp]>([
		["no conversation", () => loose.mask({ text: secret }), "not_a_conversation", /object without `messages`/],
		["nothing", () => loose.mask(undefined), "not_a_conversation", /list of messages.* got nothing\./],
		["no window", () => guard(messages), "context_window_unknown", /: give `contextWindow` in tokens, name a `model`/],
		[
			"an unknown model",
			() => guard(messages, { model: "nope-9" }),
			"context_window_unknown",
			/"nope-9": give `contextWindow` in tokens/,
		],
		[
			"two limits",
			() => truncate("a", { maxChars: 5, maxTokens: 5 }),
			"invalid_argument",
			/either `maxChars` or `maxTokens`/,
		],
		[
			"JSON in a text",
			() => loose.mask(JSON.stringify(messages)),
			"not_a_conversation",
			/got a string\. Pass the JSON itself, not a text that holds it\./,
		],
		[
			"a log that throws",
			() => guard(agentConversation(12), { contextWindow: 3_000, reserveTokens: 0, log: throwing }),
			"invalid_argument",
			/`log` threw/,
		],
		[
			"no budget",
			() => guard(messages, { contextWindow: 8_192 }),
			"no_budget",
			/^The reserve \(8192\) is as large as the window \(8192\)\. .*`reserveTokens` \(guard\.reserve_tokens .*`contextWindow`/,
		],
		["NaN", () => guard(messages, { contextWindow: Number.NaN }), "invalid_argument", /whole number .* got NaN/],
		["a negative", () => guard(messages, { contextWindow: 9, reserveTokens: -1 }), "invalid_argument", /got -1/],
		["no text", () => loose.truncate(7), "invalid_argument", /string; got number/],
		["half a limit", () => truncate("a", { maxChars: 0.5 }), "invalid_argument", /got 0\.5/],
		[
			"a mistyped key",
			() => loose.mask(messages, { policy: { mask: { windw_turns: 1 } } }),
			"invalid_policy",
			/`policy` option:\n- mask\.windw_turns: unknown key\. Did you mean mask\.window_turns\?/,
		],
		["a mistyped preset", () => loose.truncate("a", { policy: { preset: "x" } }), "invalid_policy", /preset: expected/],
		[
			"a bigint",
			() => guard(withOutput({ rows: 1n }), { contextWindow: 9_000 }),
			"invalid_argument",
			/contains itself, or a bigint/,
		],
		["a circular object", () => loose.mask(withOutput(ring)), "invalid_argument", /contains itself, or a bigint/],
	])("%s rejects with its code", async (_what, call, code, words) => {
		const rejected = await Promise.resolve()
			.then(call)
			.then(
				() => undefined,
				(error: unknown) => error,
			);
		expect(rejected).toBeInstanceOf(PalimpsestError);
		expect(rejected).toMatchObject({ name: "PalimpsestError", code, message: expect.stringMatching(words) });
		expect(String(rejected)).not.toContain(secret);
	});

	it("of truncate are rejections too, never throws", async () => {
		const answer = loose.truncate("a", { policy: { preset: "x" } });
		await expect(answer).rejects.toMatchObject({ code: "invalid_policy" });
	});
});
