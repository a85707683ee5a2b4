import { convertMessagesToCompletionsMessageParams } from "@langchain/openai";
import { guard } from "palimpsest-mcp";

/**
 * LangChain's messages made to fit. They are objects of classes, so their plain form is guarded, numbered; each
 * message comes back with its content replaced where that changed, or not at all where it was dropped.
 */
export async function guardedMessages(messages, options) {
	const plain = messages.flatMap((message, index) =>
		convertMessagesToCompletionsMessageParams({ messages: [message] }).map((one) => ({ ...one, index })),
	);
	const { conversation } = await guard(plain, options);
	const contentOf = new Map(plain.map(({ index, content }) => [index, content]));
	return conversation.map(({ index, content }) => {
		const message = messages[index];
		if (content === contentOf.get(index)) return message;
		return new message.constructor({ ...message, content });
	});
}
