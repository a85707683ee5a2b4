import type { ContextReport } from "../../src/operations/report.ts";

/** A report as `palimpsest report` makes it. */
export function reportFixture(changed: Partial<ContextReport> = {}): ContextReport {
	const result = (place: number) => ({
		tool: place === 2 ? null : "Read",
		target: place === 2 ? null : `packages/agent/src/module-${place}/index.ts`,
		call_id: place === 3 ? null : `toolu_01ABCDEFGHIJKLMNOPQRSTU${place}`,
		message: 40 + 2 * place,
		tokens: 9_000 - 800 * place,
		age_turns: 210 - 20 * place,
		used_since: place % 2 === 0,
		stale: place % 3 === 0,
	});
	return {
		model: "claude-sonnet-4-5",
		method: "estimated",
		encoding: "o200k_base",
		factor: 1.2,
		context_window: 200_000,
		budget_tokens: 184_000,
		notes: [],
		price_steps: [200_000],
		tokens: 129_277,
		messages: 1_009,
		tool_turns: 504,
		by_part: [
			{ part: "system_prompt", tokens: 1_608, groups: [] },
			{ part: "tools", tokens: null, groups: [] },
			{ part: "people", tokens: 2_842, groups: [] },
			{ part: "assistant", tokens: 30_957, groups: [] },
			{ part: "reasoning", tokens: 0, groups: [] },
			{ part: "calls", tokens: 25_000, groups: [] },
			{
				part: "tool_results",
				tokens: 68_870,
				groups: [
					{ name: "Read", tokens: 40_120, count: 102, freed_tokens: 30_000 },
					{
						name: "mcp__github__get_pull_request_review_comments_by_thread",
						tokens: 28_650,
						count: 400,
						freed_tokens: 18_077,
					},
					{ name: null, tokens: 100, count: 2, freed_tokens: 0 },
				],
			},
		],
		unrecorded_tokens: 17_900,
		repeated_tokens: 0,
		masking: { freed_tokens: 48_077, masked: 390, rewritten_tokens: 70_000, calls_to_break_even: 17 },
		by_role: [
			{ role: "tool", tokens: 68_870, chars: 241_230, messages: 504 },
			{ role: "assistant", tokens: 55_957, chars: 201_230, messages: 503 },
			{ role: "user", tokens: 2_842, chars: 9_811, messages: 1 },
			{ role: "system", tokens: 1_608, chars: 6_400, messages: 1 },
		],
		by_tool: [
			{ tool: "Read", tokens: 40_120, results: 102 },
			{ tool: "mcp__github__get_pull_request_review_comments_by_thread", tokens: 28_650, results: 400 },
			{ tool: null, tokens: 100, results: 2 },
		],
		biggest_results: Array.from({ length: 10 }, (_, place) => result(place)),
		presets: [
			{
				preset: "balanced",
				tokens_after: 81_200,
				freed_tokens: 48_077,
				masked: 390,
				truncated: 3,
				dropped: 0,
				fits: true,
				rewritten_tokens: 70_000,
				calls_to_break_even: 17,
			},
			{
				preset: "context-trim",
				tokens_after: 129_289,
				freed_tokens: -12,
				masked: 0,
				truncated: 0,
				dropped: 2,
				fits: false,
				rewritten_tokens: 100,
				calls_to_break_even: null,
			},
		],
		...changed,
	};
}
