import type { Policy } from "../../src/engine/policy/schema.ts";
import { callerOf, openerOf, readRaw } from "./raw-conversation.ts";
import type { FormatName } from "./script.ts";

/** A message of another role may be one that others need. */
const rolesOfFormats = new Set(["system", "developer", "user", "assistant", "tool", "function", "model"]);

/**
 * The groups of messages that the guard may drop, oldest first, by the contract's words and with no code of the
 * product: repeats joining until nothing changes.
 */
export function droppableGroups(document: unknown, format: FormatName, guard: Policy["guard"]): number[][] {
	const messages = readRaw(document, format);
	const pairs: [number, number][] = [];
	for (const message of messages) {
		for (const result of message.results) {
			const caller =
				result.id === undefined
					? messages.findLast((one) => one.index <= message.index && one.calls.length > 0)?.index
					: callerOf(messages, message.index, result.id);
			if (caller !== undefined) pairs.push([caller, message.index]);
		}
	}
	for (const { index, names } of messages) {
		for (const id of names) pairs.push([openerOf(messages, index, id) ?? index, index]);
	}
	const group = messages.map((message) => message.index);
	for (let changed = true; changed; ) {
		changed = false;
		for (const [one, other] of pairs) {
			const least = Math.min(group[one] ?? 0, group[other] ?? 0);
			if (group[one] === least && group[other] === least) continue;
			group[one] = least;
			group[other] = least;
			changed = true;
		}
	}
	const isFixed = ({ isSystem, role }: (typeof messages)[number]) => isSystem || !rolesOfFormats.has(role);
	const others = messages.filter((message) => !isFixed(message));
	const task =
		guard.pin_task || format === "anthropic-messages" ? messages.find((one) => one.role === "user") : undefined;
	const staying = [...messages.filter(isFixed), ...others.slice(-guard.keep_last_messages), ...(task ? [task] : [])];
	const stays = new Set(staying.map((message) => group[message.index]));
	const groups = new Map<number, number[]>();
	for (const [index, root] of group.entries()) {
		if (!stays.has(root)) groups.set(root, [...(groups.get(root) ?? []), index]);
	}
	return Array.from(groups.values());
}
