import { outputOf } from "./sample-text.ts";
import { type JsonMessage, openaiMessages, system, toolTurn, user } from "./script.ts";

/** Stands in every text of `agentConversation`; whatever must not tell conversation text must not hold it. */
export const secret = "TOPSECRET-7741";

/** An agent's conversation with so many tool turns, each result of some 2 000 characters. */
export function agentConversation(turns = 12): JsonMessage[] {
	const entries = Array.from({ length: turns }, (_, turn) =>
		toolTurn(`call_${turn}`, outputOf(`${secret} file ${turn}`)),
	);
	return openaiMessages(system(`You are careful. ${secret}`), user(`Read it all. ${secret}`), entries.flat());
}
