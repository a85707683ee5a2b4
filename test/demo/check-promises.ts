import assert from "node:assert/strict";
import type { ChatMessage } from "./record-session.js";

/** Masking changes the content of tool results and nothing else. */
export function checkMasked(before: readonly ChatMessage[], after: readonly ChatMessage[]): void {
	assert.equal(after.length, before.length, "masking adds or removes no message");
	for (const [index, message] of before.entries()) {
		const masked = after[index];
		assert.ok(masked);
		const same = message.role === "tool" ? { ...masked, content: message.content } : masked;
		assert.deepEqual(same, message, "only the content of tool results changes");
	}
	checkPairs(after);
}

/** Guarding keeps the system message, the task and the newest message, and breaks no pair. */
export function checkGuarded(before: readonly ChatMessage[], after: readonly ChatMessage[]): void {
	assert.deepEqual(after[0], before[0], "the system message stays");
	assert.deepEqual(after[1], before[1], "the task stays");
	assert.deepEqual(after.at(-1), before.at(-1), "the newest message stays");
	checkPairs(after);
}

/** A summary joins the task, whose own text stays in front of it. */
export function checkSummarised(before: readonly ChatMessage[], after: readonly ChatMessage[]): void {
	const [task, joined] = [String(before[1]?.content), String(after[1]?.content)];
	assert.ok(joined.startsWith(`${task}\n\n`) && joined.length > task.length + 2, "the summary follows the task");
	checkGuarded(before, after.with(1, before[1] as ChatMessage));
}

/** Every result follows the call that it answers, and every call has its result. */
function checkPairs(messages: readonly ChatMessage[]): void {
	const open = new Set<string>();
	for (const message of messages) {
		for (const call of message.tool_calls ?? []) open.add(call.id);
		if (message.role !== "tool") continue;
		assert.ok(open.delete(message.tool_call_id ?? ""), "no result without its call");
	}
	assert.equal(open.size, 0, "no call without its result");
}
