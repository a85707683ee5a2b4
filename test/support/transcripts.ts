import type { Message, ToolResult, Transcript } from "../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../src/formats/detect.ts";

/** A message of a transcript from the fields that a test cares about. */
export function messageOf(fields: Partial<Message> = {}): Message {
	return { role: "assistant", paths: [], counted: [], mediaTokens: 0, calls: [], results: [], thinking: [], ...fields };
}

/** A result with one text. */
export function resultOf(callId: string | undefined, text = "output"): ToolResult {
	return { callId, texts: [{ path: ["content"], text }], whole: undefined, copies: [], media: [], isError: undefined };
}

/** A transcript from messages; each message's path is its index. */
export function transcriptOf(...messages: readonly Message[]): Transcript {
	const placed = messages.map((message, index) => ({ ...message, paths: [[index]] }));
	return { format: "openai-chat", messages: placed, surroundings: [], opensWithUser: false };
}

/** The transcript of a JSON conversation. */
export function transcriptFrom(document: unknown): Transcript {
	return readConversation(document).transcript;
}

/** The transcript of a session without what is no longer sent. */
export function sentIn(records: unknown): Transcript {
	const transcript = transcriptFrom(records);
	return { ...transcript, messages: transcript.messages.filter(({ sent }) => sent !== false) };
}
