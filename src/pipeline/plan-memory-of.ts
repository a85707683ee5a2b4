import { createPlanMemory, type PlanMemory } from "../engine/plan-memory.ts";
import type { Policy } from "../policy/schema.ts";

const memories = new Map<string, PlanMemory>();
const mostPolicies = 16;

/**
 * The memory of what was planned under a policy and an encoding. Kept for the last 16 of them; what it holds goes with
 * the conversations that it was planned for.
 */
export function planMemoryOf(policy: Policy, encoding: string): PlanMemory {
	const { mask, media, guard, locale } = policy;
	const { max_tool_result_chars, truncate_head_chars, truncate_tail_chars, marker_template } = guard;
	const limits = [max_tool_result_chars, truncate_head_chars, truncate_tail_chars, marker_template];
	const key = JSON.stringify([encoding, locale, media, mask, limits]);
	const memory = memories.get(key) ?? createPlanMemory();
	memories.delete(key);
	memories.set(key, memory);
	for (const oldest of memories.keys()) {
		if (memories.size <= mostPolicies) break;
		memories.delete(oldest);
	}
	return memory;
}
