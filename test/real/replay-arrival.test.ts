import { describe, expect, it } from "vitest";
import { startArrivalSearch } from "../../lab/arrival.ts";
import { conversations, sources } from "../support/development-set.ts";
import { hasRealData } from "../support/real-conversations.ts";

const search = await startArrivalSearch();
conversations.forEach((read, index) => {
	search.add(sources[index] as string, read);
});

describe.skipIf(!hasRealData)(
	"the characters to which results are cut as they arrive, chosen on all sources but one",
	() => {
		it("save two points of raw or more, at each price of a read, where 1 or 2.4 faults in 100 calls are allowed", () => {
			const rows = search.rows();
			process.stderr.write(search.table());
			for (const { price, limit, family, point } of rows) {
				if (family !== "two numbers" || limit < 1) continue;
				const nothing = rows.find((row) => row.price === price && row.limit === limit && row.family === "nothing");
				expect([price, limit, point.ratio < (nothing?.point.ratio ?? 0) - 0.02]).toEqual([price, limit, true]);
			}
		});
	},
);
