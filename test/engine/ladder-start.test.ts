import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import type { Edit } from "../../src/engine/edit.ts";
import { type EditingStep, type LadderStart, startLadder } from "../../src/engine/ladder-start.ts";
import type { Measurement } from "../../src/engine/measure.ts";

const size = (tokens: number) => ({ chars: tokens * 4, tokens });
const sizes = Array.from({ length: 12 }, () => size(100));
const measurementOf = (count: number): Measurement => ({
	messages: sizes.slice(0, count),
	surroundingTokens: 0,
	total: size(100 * count),
});

/** An edit of one of a message's two results. */
function editOf(reason: EditingStep, { message, part, after }: { message: number; part: number; after: number }): Edit {
	const path = [message, "content", part];
	const result = { toolCallId: `${message}.${part}`, toolName: undefined };
	return { kind: "replace", reason, path, message, result, replacement: "x", before: size(50), after: size(after) };
}

const edits = fc.array(
	fc.record({
		message: fc.nat({ max: 11 }),
		part: fc.nat({ max: 1 }),
		after: fc.integer({ min: 1, max: 49 }),
	}),
	{ maxLength: 14 },
);

interface TakenEdits {
	readonly step: EditingStep;
	readonly edits: readonly Edit[];
}

function climb(count: number, steps: readonly TakenEdits[], earlier?: LadderStart) {
	const ladder = startLadder(measurementOf(count), earlier);
	const taken = steps.map(({ step, edits }) => ladder.take(step, edits));
	const start = ladder.finish();
	const { draft } = start;
	return { start, taken, told: { taken, plan: draft.plan(), sizes: draft.sizes(), saved: draft.saved() } };
}

describe("startLadder", () => {
	let onward = 0;
	test.prop(
		[
			edits,
			edits,
			fc.constantFrom<readonly EditingStep[]>(["truncate", "mask"], ["mask", "truncate"], ["mask"]),
			fc.integer({ min: 1, max: 12 }),
			fc.integer({ min: 1, max: 12 }),
			fc.boolean(),
		],
		{ numRuns: 2_000 },
	)("comes to the same from the steps of an earlier call as from the beginning", (a, b, order, one, other, skips) => {
		const [first, later] = [Math.min(one, other), Math.max(one, other)];
		const all = order.map((step, index) => ({
			step,
			edits: (index === 0 ? a : b).filter(({ message }) => message < later).map((edit) => editOf(step, edit)),
		}));
		const before = all.map(({ step, edits }) => ({ step, edits: edits.filter(({ message }) => message < first) }));
		const earlier = climb(first, before).start;
		// What came before may also stand in another order, or a step be left out.
		const now = skips ? all.slice(0, 1) : all;
		expect(climb(later, now, earlier).told).toEqual(climb(later, now).told);
		if (now.every(({ edits }, index) => before[index]?.edits.every((edit, at) => edit === edits[at]))) onward += 1;
	});

	it("went on in that property", () => {
		expect(onward).toBeGreaterThan(300);
	});

	it("leaves the earlier draft as it was", () => {
		const masked = [editOf("mask", { message: 0, part: 0, after: 10 })];
		const { start } = climb(1, [{ step: "mask", edits: masked }]);
		const more = [...masked, editOf("mask", { message: 1, part: 0, after: 10 })];
		expect(climb(2, [{ step: "mask", edits: more }], start).told.plan).toHaveLength(2);
		expect(start.draft.plan()).toHaveLength(1);
	});
});
