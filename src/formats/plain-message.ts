import type { WrittenMessage } from "../engine/message-writer.ts";

/** A message as most chat APIs take one: its role, and its text as a string. */
export function plainMessage({ role, text }: WrittenMessage) {
	return { role, content: text };
}
