import type { GuardTimes } from "./guard-scaling-child.ts";
import { runChild } from "./run-child.ts";
import { progress } from "./section.ts";

/** Times `guard` at each size, every measurement in a process of its own and on its own conversation, sizes in turns. */
export async function guardTimes(sizes: readonly number[]): Promise<Map<number, GuardTimes[]>> {
	const times = new Map(sizes.map((size): [number, GuardTimes[]] => [size, []]));
	for (let round = 1; round <= 5; round++) {
		for (const size of sizes) {
			// Large ones differ less from each other, and take longer.
			if (round > 3 && size > 3000) continue;
			progress(`guard: ${size} messages, round ${round}`);
			times.get(size)?.push(await runChild<GuardTimes>("guard-scaling-child.ts", [size, round]));
		}
	}
	return times;
}
