import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { policyOf } from "../support/policy-of.ts";
import { playThroughProxy } from "../support/proxied-session.ts";

const script = { toolTurns: 120, fileChars: 9_000 };
const thinking = { account: "newer", tokens: 400 } as const;

async function play(layer: PolicyLayer) {
	const guard = { context_window_override: 200_000, ...layer.guard };
	const policy = policyOf({ preset: "balanced", locale: "en", ...layer, guard });
	const { played, totals, provider } = await playThroughProxy({
		script,
		thinking,
		player: { model: "claude-opus-5-5" },
		proxy: { policy },
	});
	const summaries = provider.requests.filter(({ body }) => body.includes('"compaction":{"type":"summarize"')).length;
	return { played, totals, summaries, billed: totals.billed + totals.billedOutput };
}

describe("120 turns of 9 000 characters on a model that checks reasoning, with a window of 200 000", () => {
	it("end right with the provider's summaries, all reasoning of the kept turns and no refusal", {
		timeout: 900_000,
	}, async () => {
		const ways: Readonly<Record<string, PolicyLayer>> = {
			masking: {},
			clearing: { mask: { by: "provider" } },
			"compaction at the window": { compaction: { by: "provider" } },
			"compaction at 50 000": { compaction: { by: "provider" }, guard: { context_window_override: 70_692 } },
		};
		for (const [name, layer] of Object.entries(ways)) {
			const { played, totals, summaries, billed } = await play(layer);
			const { billed: input, billedOutput, refused, blocksDropped, blocksLost } = totals;
			const row = { name, billed, input, billedOutput, summaries, refused, blocksDropped, blocksLost };
			process.stdout.write(`${JSON.stringify(row)}\n`);
			expect(played.isRight).toBe(true);
			if (!name.startsWith("compaction")) continue;
			expect(played).toMatchObject({ errors: [], repairs: 0, transformations: 0 });
			expect(totals).toMatchObject({ refused: 0, blocksDropped: 0 });
		}
	});
});
