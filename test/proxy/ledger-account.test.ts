import { describe, expect, it } from "vitest";
import { newAccount, notePoint } from "../../src/proxy/ledger-account.ts";

type Why = Parameters<typeof notePoint>[2];

/** An account after requests that got no new decisions for these reasons, one each second. */
function accountAfter(reasons: readonly Why[]) {
	const account = newAccount("anthropic", 0);
	for (const why of reasons) {
		account.sums.requests += 1;
		account.last += 1_000;
		notePoint(account, [account.sums.requests, 0, 0, 0], why);
	}
	return account;
}

describe("the account of a conversation", () => {
	it("says from which request to which there were no new decisions, and why", () => {
		const { undecided } = accountAfter([undefined, "frozen", "frozen", "archive", undefined, "archive"]);
		expect(undecided).toEqual([
			{ from: 2, to: 3, why: "frozen", last: 3_000 },
			{ from: 4, to: 4, why: "archive", last: 4_000 },
			{ from: 6, to: 6, why: "archive", last: 6_000 },
		]);
	});

	it("keeps the latest 2 000 requests, and the latest 200 of such stretches", () => {
		const reasons = Array.from({ length: 2_500 }, (_, index): Why => (index % 2 === 0 ? "failed" : undefined));
		const { points, undecided } = accountAfter(reasons);
		expect([points.length, points[0]?.[0], points.at(-1)?.[0]]).toEqual([2_000, 501, 2_500]);
		expect([undecided.length, undecided.at(-1)?.to]).toEqual([200, 2_499]);
	});
});
