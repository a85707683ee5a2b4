import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { findErrors, resultTargets } from "../../../src/engine/masking/judge-results.ts";
import { findStale } from "../../../src/engine/masking/staleness.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const seen = { stale: 0, errors: 0, settled: 0 };

const path = fc.constantFrom("/p/src/a.ts", "src/a.ts", "./src/a.ts", "/p/b.md", "b.md");

const given = fc.oneof(
	path.map((one) => ["read", JSON.stringify({ path: one })] as const),
	fc
		.tuple(fc.constantFrom("/p/b.md", "/p/c.md"), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 6 }))
		.map(([one, offset, limit]) => ["read", JSON.stringify({ path: one, offset, limit })] as const),
	path.map((one) => ["edit", JSON.stringify({ path: one, old_string: "a" })] as const),
	fc
		.tuple(fc.constantFrom("cat", "sed -n 2,5p", "open", "goto 5; true", "rm", "grep x", "cd /p && cat"), path)
		.map(([command, one]) => ["bash", JSON.stringify({ command: `${command} ${one}` })] as const),
	fc.constantFrom("npm test", "ls", "edit 1:2\nx\nend_of_edit").map((one) => ["shell", one] as const),
);

const text = fc.oneof(
	{ weight: 3, arbitrary: fc.integer({ min: 100, max: 999 }).map((number) => `some text ${number}`) },
	{
		weight: 1,
		arbitrary: fc.constantFrom("same text", "a text that is longer than the others by far", "Exit code 1\nno"),
	},
);

const id = fc.constantFrom("a", "b", "c", "d", "e", "f", undefined);

const one = fc.record({ given, text, id, answered: fc.integer({ min: 0, max: 9 }).map((dice) => dice > 0) });

/** Messages with one to three calls, each with a message of their results; some calls go unanswered, ids come again. */
const histories = fc
	.array(fc.array(one, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 14 })
	.map((turns) =>
		turns.flatMap((turn): Message[] => [
			messageOf({
				calls: turn.map(({ given: [name], id }) => ({ id, name })),
				counted: turn.flatMap(({ given: both }) => [...both]),
			}),
			messageOf({
				role: "tool",
				results: turn.flatMap((called) => (called.answered ? [resultOf(called.id, called.text)] : [])),
			}),
		]),
	);

test.prop([histories], { numRuns: numberOfCases(300) })(
	"facts about a history stay the same when it continues",
	(history) => {
		const whole = transcriptOf(...history);
		const [stale, errors, targets] = [findStale(whole), findErrors(whole), resultTargets(whole)];
		for (let end = 0; end <= history.length; end += 1) {
			const part = transcriptOf(...history.slice(0, end));
			const count = pairResults(part).length;
			expect(findStale(part)).toEqual(
				stale.slice(0, count).map((from) => (from !== undefined && from < end ? from : undefined)),
			);
			expect(findErrors(part)).toEqual(
				errors.slice(0, count).map((known) => {
					const isSettled = known?.resolvedFrom !== undefined && known.resolvedFrom < end;
					return known && { ...known, resolvedFrom: isSettled ? known.resolvedFrom : undefined };
				}),
			);
			expect(resultTargets(part)).toEqual(targets.slice(0, count));
		}
		seen.stale += stale.filter((from) => from !== undefined).length;
		seen.errors += errors.filter(Boolean).length;
		seen.settled += errors.filter((error) => error?.resolvedFrom !== undefined).length;
	},
);

afterAll(() => {
	expect(seen.stale).toBeGreaterThan(leastOfCases(150));
	expect(seen.errors).toBeGreaterThan(leastOfCases(50));
	expect(seen.settled).toBeGreaterThan(leastOfCases(15));
});
