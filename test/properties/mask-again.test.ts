import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { presetNames } from "../../src/engine/policy/names.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { policyOf } from "../support/policy-of.ts";

/** Small, so that results, calls, answers and reasoning share names, and results come twice. */
const name = fc.integer({ min: 1, max: 14 }).map((number) => `src/part${number % 5}/fileName${number}.ts`);
const words = fc.array(name, { maxLength: 4 });
const output = fc.record({
	names: fc.array(name, { maxLength: 8 }),
	lines: fc.constantFrom(1, 6, 40, 160),
	seed: fc.integer({ min: 0, max: 12 }),
	fails: fc.integer({ min: 0, max: 7 }).map((number) => number === 0),
});
type Output = typeof output extends fc.Arbitrary<infer T> ? T : never;
const turn = fc.record({
	thought: fc.option(words, { nil: undefined }),
	said: words,
	calls: fc.array(fc.record({ tool: fc.constantFrom("read", "grep", "bash"), about: name, output }), {
		minLength: 1,
		maxLength: 3,
	}),
	asks: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
});
type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

const textOf = ({ names, lines, seed, fails }: Output): string =>
	[
		...(fails ? ["Error: no such file or directory"] : []),
		...names,
		...Array.from({ length: lines }, (_, line) => `${seed} line ${line} says value_${seed}_${line} and goes on`),
	].join("\n");

const thinkingOf = (names: readonly string[], at: number) => ({
	type: "thinking",
	thinking: `I think about ${names.join(" and ")} at length.`,
	signature: "s".repeat(40 + 8 * (at % 5)),
});

const writers = {
	anthropic(turns: readonly Turn[]) {
		const messages: unknown[] = [{ role: "user", content: "Begin." }];
		for (const [at, { thought, said, calls, asks }] of turns.entries()) {
			const ids = calls.map((_, index) => `toolu_${at}_${index}`);
			const content = [
				...(thought ? [thinkingOf(thought, at)] : []),
				...(said.length > 0 ? [{ type: "text", text: `Look at ${said.join(", ")}.` }] : []),
				...calls.map(({ tool, about }, index) => ({
					type: "tool_use",
					id: ids[index],
					name: tool,
					input: { path: about },
				})),
			];
			const results = calls.map((call, index) => ({
				type: "tool_result",
				tool_use_id: ids[index],
				content: textOf(call.output),
				...(call.output.fails ? { is_error: true } : {}),
			}));
			messages.push({ role: "assistant", content }, { role: "user", content: results });
			if (asks) messages.push({ role: "assistant", content: "Done." }, { role: "user", content: "More, please." });
		}
		return { model: "claude-opus-5-1", messages };
	},
	"openai-chat"(turns: readonly Turn[]) {
		const messages: unknown[] = [{ role: "user", content: "Begin." }];
		for (const [at, { said, calls, asks }] of turns.entries()) {
			const ids = calls.map((_, index) => `call_${at}_${index}`);
			const tool_calls = calls.map(({ tool, about }, index) => ({
				id: ids[index],
				type: "function",
				function: { name: tool, arguments: JSON.stringify({ path: about }) },
			}));
			messages.push({ role: "assistant", content: said.join(" ") || null, tool_calls });
			for (const [index, call] of calls.entries()) {
				messages.push({ role: "tool", tool_call_id: ids[index], content: textOf(call.output) });
			}
			if (asks) messages.push({ role: "assistant", content: "Done." }, { role: "user", content: "More, please." });
		}
		return { model: "gpt-5", messages };
	},
};

const settings = fc.record({
	preset: fc.constantFrom(...presetNames),
	format: fc.constantFrom<keyof typeof writers>("anthropic", "anthropic", "openai-chat"),
	cadence: fc.constantFrom<"every_turn" | "stride" | "break_even">("every_turn", "stride", "break_even", "break_even"),
	selection: fc.option(fc.constantFrom("age", "use"), { nil: undefined }),
	window: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
	last: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined }),
	thrift: fc.constantFrom("low", "medium", "high"),
	thinking: fc.constantFrom("auto", "auto", "strip_after_edit", "keep"),
});

const seen = new Map<string, number>();
const runs = Number(process.env.MASK_AGAIN_CASES ?? numberOfCases(400));

test.prop([fc.array(turn, { minLength: 3, maxLength: 24, size: "max" }), settings], { numRuns: runs })(
	"a second mask with the same policy changes nothing, for every preset, cadence and selection",
	async (turns, { preset, format, cadence, selection, window, last, thrift, thinking }) => {
		const policy = policyOf({
			preset,
			thinking: thinking as "auto",
			mask: {
				enabled: true,
				thrift: thrift as "low",
				cadence,
				...(selection && { selection }),
				...(window && { window_turns: window }),
				...(last && { keep_last_k_per_tool: last }),
			},
		});
		const once = await maskConversation({ conversation: writers[format](turns), policy });
		expect(once.error).toBeUndefined();
		const twice = await maskConversation({ conversation: once.conversation, policy });
		expect(twice.edits.map(({ path }) => path)).toEqual([]);
		expect(twice.conversation).toBe(once.conversation);
		for (const kind of [policy.mask.cadence, policy.mask.selection, preset, format]) {
			seen.set(kind, (seen.get(kind) ?? 0) + once.edits.length);
		}
	},
	600_000 + 200 * runs,
);

afterAll(() => {
	for (const kind of ["every_turn", "stride", "break_even", "age", "use", "balanced", "anthropic"]) {
		expect(seen.get(kind) ?? 0, kind).toBeGreaterThan(leastOfCases(20));
	}
});
