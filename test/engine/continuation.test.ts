import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { continueMessages, type Findings, findEarlier, findOnce } from "../../src/engine/continuation.ts";
import { groupMessages } from "../../src/engine/groups.ts";
import { measure } from "../../src/engine/measure.ts";
import { pairResults } from "../../src/engine/pairing.ts";
import { planDrop } from "../../src/engine/strategies/drop.ts";
import { toolTurns } from "../../src/engine/tool-turns.ts";
import type { Message, Transcript } from "../../src/engine/transcript.ts";
import { policyOf } from "../support/policy-of.ts";
import { roughCount } from "../support/rough-count.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

const listOf = (length: number) => Array.from({ length }, () => messageOf());

describe("findOnce", () => {
	it("finds once for a list, and goes on from what was found of its beginning", () => {
		const findings: Findings<string> = new WeakMap();
		const [short, long] = [listOf(1), listOf(2)];
		continueMessages(long, short);
		expect(findOnce(findings, short, () => "short")).toBe("short");
		expect(findOnce(findings, short, () => "again")).toBe("short");
		expect(findOnce(findings, long, (earlier) => `${earlier?.finding} of ${earlier?.messages.length}, long`)).toBe(
			"short of 1, long",
		);
	});

	it("finds from the start where nothing was found of the beginning", () => {
		const [short, long] = [listOf(1), listOf(2)];
		continueMessages(long, short);
		expect(findOnce(new WeakMap(), long, (earlier) => String(earlier))).toBe("undefined");
	});

	it("remembers one step back, so that no list keeps all that came before it", () => {
		const findings: Findings<number> = new WeakMap();
		const lists = [1, 2, 3].map(listOf) as [Message[], Message[], Message[]];
		continueMessages(lists[1], lists[0]);
		continueMessages(lists[2], lists[1]);
		findOnce(findings, lists[0], () => 1);
		expect(findEarlier(findings, lists[1])).toBeUndefined();
		findOnce(findings, lists[1], () => 2);
		expect(findEarlier(findings, lists[2])).toEqual({ messages: lists[1], finding: 2 });
	});
});

const ids = fc.option(fc.constantFrom("a", "b", "c", "d"), { nil: undefined, freq: 6 });
const messages: fc.Arbitrary<readonly Message[]> = fc.array(
	fc
		.record({
			role: fc.constantFrom<Message["role"]>("assistant", "tool", "user", "system"),
			calls: fc.array(ids, { maxLength: 2 }),
			results: fc.array(ids, { maxLength: 3 }),
			text: fc.string({ maxLength: 40 }),
			isSent: fc.boolean(),
		})
		.map(({ role, calls, results, text, isSent }) =>
			messageOf({
				role,
				counted: [text],
				calls: calls.map((id) => ({ id, name: "ls" })),
				results: results.map((id) => resultOf(id, text)),
				...(isSent ? {} : { sent: false }),
			}),
		),
	{ minLength: 2, maxLength: 24 },
);

const meter = { countTokens: roughCount, messageOverhead: 4 };

/** Everything that is found out along a conversation. */
function findings(transcript: Transcript) {
	const paired = pairResults(transcript);
	const measurement = measure(transcript, meter, 3);
	const sizes = { originalSizes: measurement.messages, currentSizes: measurement.messages };
	const dropped = planDrop({ transcript, policy: policyOf().guard, ...sizes, isEnough: () => false });
	return { paired, turns: toolTurns(transcript), groups: groupMessages(transcript, paired), measurement, dropped };
}

let grown = 0;
let merged = 0;
test.prop([messages, fc.array(fc.integer({ min: 1, max: 24 }), { minLength: 1, maxLength: 4 })], { numRuns: 1_000 })(
	"what is found out as a conversation goes on is what is found out of all of it",
	(all, steps) => {
		const whole = transcriptOf(...all);
		let before: readonly Message[] | undefined;
		for (const step of [...steps].sort((a, b) => a - b)) {
			const list = whole.messages.slice(0, step);
			if (before && list.length > before.length) {
				continueMessages(list, before);
				grown += 1;
			}
			const found = findings({ ...whole, messages: list });
			expect(found).toEqual(findings({ ...whole, messages: list.slice() }));
			const known = before?.length ?? 0;
			const groupsBefore = before ? groupMessages({ ...whole, messages: before }, []).length : 0;
			if (found.groups.filter((group) => (group.messages[0] ?? 0) < known).length < groupsBefore) merged += 1;
			before = list;
		}
	},
);

it("conversations went on in that property, and new results brought groups together", () => {
	expect(grown).toBeGreaterThan(250);
	expect(merged).toBeGreaterThan(20);
});
