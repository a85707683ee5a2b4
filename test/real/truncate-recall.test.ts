import { describe, expect, it } from "vitest";
import { kinds } from "../engine/truncation/recall-cases.ts";
import { isWhole } from "../support/breadth.ts";
import { hasRealData } from "../support/real-conversations.ts";
import { gapClosed, measureShares, recallBudgets, recallSet, showShares } from "../support/recall-set.ts";

const largeTokens = 2_000;
/** Share of the gap between head and tail and the bound that has to be closed. */
const gapsToClose = { 2000: 0.1, 4000: 0.2, 8000: 0.25, 16000: 0.1 } as const;
/** The other runs measure the budgets that users meet most. */
const budgets = isWhole ? recallBudgets : ([4_000, 8_000] as const);
const each = budgets.flatMap((budget) => kinds.map((kind) => ({ budget, kind })));
const say = (text: string) => process.stderr.write(text);

describe.skipIf(!hasRealData)("content of large results that is used later", async () => {
	const items = await recallSet(largeTokens);
	const all = items.map(({ found }) => found);
	say("| budget, kind | head_tail | auto | bound | gap closed |\n| --- | --- | --- | --- | --- |\n");

	it("has enough cases to measure", () => {
		expect(all.length).toBeGreaterThan(200);
		for (const kind of kinds) expect(all.reduce((sum, one) => sum + one.alone[kind].size, 0)).toBeGreaterThan(300);
		expect(all.filter(({ focus }) => focus.length > 20).length).toBeGreaterThan(200);
	});

	it.each(each)("auto with focus keeps more $kind than head and tail at $budget characters", ({ budget, kind }) => {
		const shares = measureShares({ cases: all, budget, kind });
		say(showShares(`${budget}, ${kind}`, shares));
		expect(shares.kept).toBeGreaterThan(shares.headTail);
		expect(gapClosed(shares)).toBeGreaterThanOrEqual(gapsToClose[budget]);
	});

	it.each([0, 1].flatMap((half) => each.map((one) => ({ ...one, half }))))(
		"auto with focus does so on each half of the conversations ($half, $kind, $budget)",
		({ half, budget, kind }) => {
			const cases = items.filter((one) => one.conversation % 2 === half).map(({ found }) => found);
			const shares = measureShares({ cases, budget, kind });
			say(showShares(`half ${half}: ${budget}, ${kind}`, shares));
			expect(gapClosed(shares)).toBeGreaterThanOrEqual(gapsToClose[budget]);
		},
	);

	it.each(each)("auto with focus keeps more content of several results too ($kind, $budget)", ({ budget, kind }) => {
		const shares = measureShares({ cases: all, budget, kind, of: "shared" });
		say(showShares(`in any: ${budget}, ${kind}`, shares));
		expect(shares.kept).toBeGreaterThan(shares.headTail);
	});
});
