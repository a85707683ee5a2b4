import { describe, expect, it } from "vitest";
import { runCase, type Tally } from "./cases.ts";
import { shrink } from "./shrink.ts";
import { drawCase, type Target } from "./target.ts";
import { targets } from "./targets.ts";

// `npm run fuzz` draws a new one each time.
const seed = 20_261_122;
const cases = 30;

describe.each(targets)("random cases of $name", (target) => {
	it(`keep every promise, ${cases} of them, and some are done and some are refused`, async () => {
		const tally: Tally = { done: 0, refused: 0, failed: 0, milliseconds: 0 };
		for (let number = 0; number < cases; number += 1) {
			const failure = await runCase({ target, seed: seed + number, tally, onTry: () => {} });
			if (failure)
				expect.fail(`npm run fuzz -- --target ${target.name} --seed ${failure.seed} --cases 1\n${failure.message}`);
		}
		await target.close?.();
		expect(tally.done).toBeGreaterThan(0);
		expect(tally.refused).toBeGreaterThan(0);
	});

	it("are the same for the same seed", () => {
		expect(JSON.stringify(drawCase(target, seed))).toBe(JSON.stringify(drawCase(target, seed)));
		expect(JSON.stringify(drawCase(target, seed))).not.toBe(JSON.stringify(drawCase(target, seed + 1)));
	});
});

describe("a promise that is broken", () => {
	const lists: Target = {
		name: "lists",
		draw: (random) => ({
			list: Array.from({ length: 40 }, () => ({ size: Math.floor(random() * 100), text: "a long text" })),
		}),
		async check({ list }: { list: { size: number }[] }) {
			if (list.some(({ size }) => size > 90)) throw new Error("broken: sizes stay small");
			return "done";
		},
	};

	it("is found, with its seed and the smallest input that breaks it", async () => {
		const tally: Tally = { done: 0, refused: 0, failed: 0, milliseconds: 0 };
		const failure = await runCase({ target: lists, seed: 7, tally, onTry: () => {} });
		expect(failure).toMatchObject({ target: "lists", seed: 7, message: expect.stringContaining("sizes stay small") });
		expect(failure?.input).toEqual({ list: [{ size: expect.any(Number) }] });
		expect(tally).toMatchObject({ done: 0, failed: 1 });
	});

	it("is shrunk only to inputs that break it", async () => {
		const fails = async (input: unknown) => JSON.stringify(input).includes("needle");
		const smallest = await shrink({ text: `${"hay".repeat(50)}needle${"hay".repeat(50)}`, other: [1, 2, 3] }, fails);
		expect(smallest).toEqual({ text: "needle", other: [] });
	});
});
