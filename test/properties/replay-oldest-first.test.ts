import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { replay } from "../../src/engine/masking/replay.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";
import { beginningOf, historyOf } from "../support/replay-history.ts";

const seen = { cleared: 0, partly: 0, nevers: 0 };

const policies = fc
	.record({
		window_turns: fc.integer({ min: 1, max: 3 }),
		tools: fc.constantFrom({}, { ls: "never" } as const, { read_file: "never" } as const),
		selection: fc.constantFrom("age" as const, "use" as const),
		cadence: fc.constantFrom("every_turn" as const, "stride" as const, "break_even" as const),
		stride_turns: fc.integer({ min: 1, max: 4 }),
		thrift: fc.constantFrom("low" as const, "high" as const),
	})
	.map((mask) => policyOf({ mask }));

test.prop([conversations, policies, fc.constantFrom(undefined, 300, 2_000)], { numRuns: numberOfCases(300) })(
	"at each moment the oldest results are cleared, except results that a rule keeps",
	(conversation, policy, budget) => {
		const { transcript } = readConversation(conversation);
		const { mask, prices } = policy;
		const history = historyOf(transcript, policy);
		const schedule = replay(history, { mask, prices, budget, oldestFirst: true });
		const stays = (place: number) => {
			const { turn, toolName, usedUntil } = history.results[place] as (typeof history.results)[number];
			const rule = Object.hasOwn(mask.tools, toolName ?? "") ? mask.tools[toolName ?? ""] : undefined;
			return (
				turn === undefined || rule === "never" || (rule === undefined && mask.selection === "use" && usedUntil !== -1)
			);
		};
		const places = history.results.map((_, place) => place).filter((place) => !stays(place));
		const moments = places.map((place) => schedule[place] as number);
		expect(moments).toEqual(moments.toSorted((a, b) => a - b));
		for (const place of history.results.keys())
			if (stays(place)) expect(schedule[place]).toBe(Number.POSITIVE_INFINITY);
		const cleared = moments.filter((moment) => moment !== Number.POSITIVE_INFINITY).length;
		seen.cleared += Number(cleared > 0);
		seen.partly += Number(cleared > 0 && cleared < places.length);
		seen.nevers += Number(cleared > 0 && places.length < history.results.length);
	},
);

test.prop([conversations, policies], { numRuns: numberOfCases(150) })(
	"results that a provider has cleared stay cleared when the conversation goes on",
	(conversation, policy) => {
		const { transcript } = readConversation(conversation);
		const { mask, prices } = policy;
		const whole = replay(historyOf(transcript, policy), { mask, prices, oldestFirst: true });
		const end = Math.floor(transcript.messages.length / 2);
		const beginning = historyOf(beginningOf(transcript, end), policy);
		const before = replay(beginning, { mask, prices, oldestFirst: true });
		for (const place of beginning.results.keys()) {
			if ((before[place] as number) < end) expect(whole[place]).toBe(before[place]);
		}
	},
);

afterAll(() => {
	for (const count of Object.values(seen)) expect(count).toBeGreaterThan(leastOfCases(5));
});
