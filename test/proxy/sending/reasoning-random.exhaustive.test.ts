import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { createRandom } from "../../bench/random.ts";
import { policyOf } from "../../support/policy-of.ts";
import { memoryArchive, startPlayed } from "../played.ts";
import { expectRightBlocks, startHost, strict, thinkingOf, thinkingProvider } from "../thinking-host.ts";
import { send } from "../upstream.ts";

const policies = [
	{ preset: "balanced" },
	{ preset: "balanced", mask: { window_turns: 2, selection: "age", cadence: "every_turn" } },
	{ preset: "balanced", mask: { window_turns: 1, selection: "age", cadence: "stride", stride_turns: 3 } },
] as const;

/** A session whose host rewinds, forks, pauses, asks again and changes the proxy, while the archive fails at times. */
async function playRandom(seed: number, model: string) {
	const random = createRandom(seed);
	const chance = (share: number) => random() < share;
	const provider = thinkingProvider(strict);
	const real = await memoryArchive();
	let isAway = false;
	const away = () => Promise.reject(new PalimpsestError("archive_unavailable", "The archive is away."));
	const put: typeof real.put = (...given) => (isAway ? away() : real.put(...given));
	const policy = policyOf(policies[seed % policies.length]);
	const session = await startPlayed({ policy, archive: { ...real, put } }, provider.answer);
	let proxies = [await session.start(), await session.start()];
	const host = startHost({ model });
	let branch = [...host.messages];
	let [wrong, started] = [0, 2];
	for (let step = 0; step < 40; step += 1) {
		isAway = chance(0.1);
		if (chance(0.1)) host.messages.splice(Math.max(1, host.messages.length - 2 * (1 + Math.floor(random() * 4))));
		if (chance(0.08)) {
			const other = branch;
			branch = host.messages.splice(0);
			host.messages.push(...other);
		}
		if (chance(0.05)) host.messages.push({ role: "user", content: `Now look at ${step}.` });
		if (chance(0.05)) session.wait(6 * 60_000);
		if (chance(0.05)) {
			await proxies[0]?.close();
			proxies = [...proxies.slice(1), await session.start()];
			started += 1;
		}
		const proxy = proxies[chance(0.8) ? 0 : 1] as (typeof proxies)[number];
		// A host that counts first.
		if (chance(0.1)) wrong += (await send(proxy.url, host.request("/v1/messages/count_tokens"))).status === 200 ? 0 : 1;
		const got = await host.turn(proxy, Math.round(200 * 200 ** random()));
		if (got.status !== 200) wrong += 1;
	}
	for (const proxy of proxies) await proxy.close();
	return { provider, host, wrong, started };
}

describe("random sessions before a provider that checks reasoning", () => {
	const seeds = Array.from({ length: 40 }, (_, index) => 7_000 + index);

	it("have no refused request, and lose no reasoning that still fits, on a model that checks it for all", async () => {
		let left = 0;
		let kept = 0;
		for (const seed of seeds) {
			const { provider, host, wrong } = await playRandom(seed, "claude-fable-5-2");
			expect([seed, provider.refused(), wrong]).toEqual([seed, 0, 0]);
			left += expectRightBlocks(provider, host);
			kept += provider.accepted.reduce((sum, { body }) => sum + thinkingOf(body).length, 0);
		}
		expect(Math.min(left, kept)).toBeGreaterThan(600);
	}, 240_000);

	it("have one refused request at most for each proxy on an account that checks it unexpectedly, and no error at the host", async () => {
		for (const seed of seeds) {
			const { provider, host, wrong, started } = await playRandom(seed, "claude-opus-5-5");
			expect([seed, provider.refused() <= started, wrong]).toEqual([seed, true, 0]);
			expectRightBlocks(provider, host);
		}
	}, 240_000);
});
