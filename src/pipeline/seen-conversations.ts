import { type ConversationMemory, createConversationMemory } from "../formats/conversation-memory.ts";

/**
 * The conversations that this process has seen last, so that the next turn of one costs only its new messages. At most
 * 16 conversations and 64 million characters in all; the longest unused is forgotten first.
 */
const seenConversations = createConversationMemory({ conversations: 16, chars: 64_000_000 });

/** The memory that a request means: its own, none, or that of the process. */
export function memoryOf(given: ConversationMemory | "none" | undefined): ConversationMemory | undefined {
	return given === "none" ? undefined : (given ?? seenConversations);
}
