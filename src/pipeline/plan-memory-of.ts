import type { Archive } from "../archive/archive.ts";
import { createPlanMemory, type PlanMemory } from "../engine/plan-memory.ts";
import type { Policy } from "../policy/schema.ts";
import type { Originals } from "../policy/wordings.ts";

const memories = new Map<string, PlanMemory>();
// What an archive names a text by depends on the archive.
const ofArchives = new WeakMap<Archive, Map<string, PlanMemory>>();
const mostPolicies = 16;

/**
 * The memory of what was planned under a policy, an encoding and an archive. Kept for the last 16 of them; what it holds goes with
 * the conversations that it was planned for.
 */
export function planMemoryOf(what: {
	readonly policy: Policy;
	readonly encoding: string;
	readonly archive: Archive | undefined;
	readonly originals: Originals;
}): PlanMemory {
	const { policy, encoding, archive, originals } = what;
	const among = archive ? (ofArchives.get(archive) ?? new Map<string, PlanMemory>()) : memories;
	if (archive) ofArchives.set(archive, among);
	const { mask, media, guard, locale, truncate } = policy;
	const { max_tool_result_chars, truncate_head_chars, truncate_tail_chars, marker_template } = guard;
	const limits = [
		max_tool_result_chars,
		truncate_head_chars,
		truncate_tail_chars,
		marker_template,
		truncate.strategy,
		truncate.keep_ansi,
	];
	const key = JSON.stringify([encoding, originals, locale, media, mask, limits]);
	const memory = among.get(key) ?? createPlanMemory();
	among.delete(key);
	among.set(key, memory);
	for (const oldest of among.keys()) {
		if (among.size <= mostPolicies) break;
		among.delete(oldest);
	}
	return memory;
}
