import { rm } from "node:fs/promises";
import { noCounts, playRandomSession, type SessionCounts } from "./random-session.ts";
import { scratchFolder } from "./scratch-folder.ts";

/** Plays sessions one after another, and prints what happened in them. Throws with the seeds of those that broke a rule. */
export async function playRandomSessions({
	first,
	count,
	counts = noCounts(),
	by = "palimpsest",
}: {
	/** The first seed. */
	readonly first: number;
	readonly count: number;
	readonly counts?: SessionCounts;
	/** Who takes old results out: `mask.by` of the policy. */
	readonly by?: "palimpsest" | "provider";
}): Promise<SessionCounts> {
	const folder = await scratchFolder();
	const failed = new Map<string, number[]>();
	for (let seed = first; seed < first + count; seed += 1) {
		try {
			await playRandomSession(seed, `${folder}/${seed}`, { counts, by });
		} catch (error) {
			const rule = String(error).replace(/messages\.\d+\.content\.\d+/g, "a block");
			failed.set(rule, [...(failed.get(rule) ?? []), seed]);
		}
		await rm(`${folder}/${seed}`, { recursive: true, force: true });
	}
	process.stderr.write(`Random sessions from seed ${first} on: ${JSON.stringify(counts)}\n`);
	const found = Array.from(failed, ([rule, seeds]) => `${rule} Seeds: ${seeds.join(", ")}.`);
	if (found.length > 0) throw new Error(found.join("\n"));
	return counts;
}
