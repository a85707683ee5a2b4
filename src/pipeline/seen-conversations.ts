import { isMainThread } from "node:worker_threads";
import { type ConversationMemory, createConversationMemory } from "../formats/conversation-memory.ts";

/** A process of one user, and a thread that works for the many clients of a server. */
const limits = isMainThread ? { conversations: 16, chars: 64_000_000 } : { conversations: 64, chars: 128_000_000 };

/**
 * The conversations that this process, or this thread, has seen last, so that the next turn of one costs only its new
 * messages. At most 16 conversations and 64 million characters in all, in a thread 64 and 128 million; the longest
 * unused is forgotten first.
 */
const seenConversations = createConversationMemory(limits);

/**
 * Where a request's conversation is remembered: in a memory of its own, nowhere, or in that of the process. `owned`: there,
 * and nobody else holds the conversation, so that no copy of it is made.
 */
export type MemoryChoice = ConversationMemory | "none" | "owned";

/** The memory that a request means. By default that of the process. */
export function memoryOf(given: MemoryChoice | undefined): ConversationMemory | undefined {
	if (given === "none") return undefined;
	return given === "owned" ? seenConversations.ofOwned : (given ?? seenConversations);
}
