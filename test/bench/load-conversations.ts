import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openaiMessages } from "./conversation-shapes.ts";
import { generateConversation } from "./generate-conversation.ts";
import { projectFolder } from "./project-folder.ts";

const recorded = `${projectFolder}/../shared/data/conversations`;
const charactersOfMessage = 1500;
const [smallest, largest] = [100_000, 5_000_000];

/** What is joined, in bytes at most: recorded sessions of 2 to 5 MB are rare, and there are none here. */
const joins = [
	{ format: "claude-code", most: 2_500_000 },
	{ format: "claude-code", most: largest },
	{ format: "openai", most: 2_500_000 },
	{ format: "openai", most: largest },
];

/** Conversations for a load, each as the text of a file. */
export interface RecordedConversations {
	/** As they were recorded, of 100 kB to 5 MB. */
	readonly sessions: readonly string[];
	/** Made of several sessions of one format, one behind the other. */
	readonly joined: readonly string[];
}

/** A generated conversation as JSON, of about so many megabytes. */
export function generatedConversation(seed: number, megabytes: number): string {
	const length = Math.ceil((megabytes * 1e6) / charactersOfMessage);
	return JSON.stringify(openaiMessages(generateConversation(seed + 1, length)));
}

/** The recorded conversations; `undefined` where they do not lie beside the checkout, as they are not published. */
export function recordedConversations(): RecordedConversations | undefined {
	if (!existsSync(recorded)) return undefined;
	const sessions = readdirSync(recorded, { recursive: true, encoding: "utf8" })
		.filter((name) => name.endsWith(".json"))
		.sort()
		.map((name) => readFileSync(join(recorded, name), "utf8"))
		.filter((text) => Buffer.byteLength(text) >= smallest && Buffer.byteLength(text) <= largest);
	return { sessions, joined: joins.map(({ format, most }) => joinSessions(sessions, format, most)) };
}

interface Session {
	readonly format: string;
	readonly messages: readonly object[];
}

/** The largest sessions of a format, one behind the other, as many of them as have room. */
function joinSessions(sessions: readonly string[], format: string, most: number): string {
	let room = most - 1_000;
	const messages = sessions
		.map((text): Session => JSON.parse(text))
		.filter((session) => session.format === format)
		.map((session, index) => session.messages.map((message) => withOwnIds(message, `s${index}_`)))
		.map((own) => ({ own, bytes: Buffer.byteLength(JSON.stringify(own)) }))
		.sort((one, other) => other.bytes - one.bytes)
		.flatMap(({ own, bytes }) => {
			if (bytes > room) return [];
			room -= bytes;
			return own;
		});
	return JSON.stringify({ format, messages });
}

interface ChatMessage {
	readonly tool_call_id?: string;
	readonly tool_calls?: readonly { readonly id: string }[];
}

/** Some recorders number the calls of chat completions from 1 in each session; other formats have ids of their own. */
function withOwnIds(message: ChatMessage, prefix: string): object {
	const { tool_call_id: id, tool_calls: calls } = message;
	return {
		...message,
		...(typeof id === "string" ? { tool_call_id: prefix + id } : {}),
		...(Array.isArray(calls) ? { tool_calls: calls.map((call) => ({ ...call, id: prefix + call.id })) } : {}),
	};
}
