import { refusalOfMessages } from "./message-rules.ts";
import type { Api } from "./provider-cache.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * The 400 of an API for calls and results that do not fit, in its words; nothing if they do. Sources: error messages that users
 * reported, and https://ai.google.dev/gemini-api/docs/function-calling for the number of responses.
 */
export function refusalOfPairing(api: Api, body: Json): string | undefined {
	if (api === "anthropic") return refusalOfMessages(body);
	if (api === "openai-chat") return pairingInChat(list(body.messages));
	return api === "openai-responses" ? pairingInItems(list(body.input)) : pairingInContents(list(body.contents));
}

/** Every call is answered before the next message of another role, and every result has its call there. */
function pairingInChat(messages: readonly Json[]): string | undefined {
	let open = new Set<unknown>();
	for (const { role, tool_calls: calls, tool_call_id: id } of messages) {
		if (role === "tool") {
			if (!open.delete(id))
				return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
			continue;
		}
		if (open.size > 0) return unanswered(open);
		open = new Set(list(calls).map((call) => call.id));
	}
	return open.size > 0 ? unanswered(open) : undefined;
}

function unanswered(open: ReadonlySet<unknown>): string {
	return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`;
}

function pairingInItems(items: readonly Json[]): string | undefined {
	const kinds = { function_call: "function_call_output", custom_tool_call: "custom_tool_call_output" };
	for (const [call, output] of Object.entries(kinds)) {
		const called = items.filter(({ type }) => type === call).map(({ call_id: id }) => id);
		const answered = items.filter(({ type }) => type === output).map(({ call_id: id }) => id);
		const lone = answered.find((id) => !called.includes(id));
		if (lone !== undefined) return `No tool call found for function call output with call_id ${lone}.`;
		const open = called.find((id) => !answered.includes(id));
		if (open !== undefined) return `No tool output found for function call ${open}.`;
		if (new Set(answered).size < answered.length) return "Duplicate function call output.";
	}
	return undefined;
}

/** As many responses follow as there are calls, in the next content of the user. */
function pairingInContents(contents: readonly Json[]): string | undefined {
	const counted = contents.map(({ parts }) => ({
		calls: list(parts).filter((part) => part.functionCall).length,
		responses: list(parts).filter((part) => part.functionResponse).length,
	}));
	const wrong = counted.some(({ calls }, index) => {
		const next = counted[index + 1];
		return (calls > 0 || (next?.responses ?? 0) > 0) && calls !== (next?.responses ?? 0);
	});
	if (!wrong && (counted[0]?.responses ?? 0) === 0) return undefined;
	return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
}

function list(value: unknown): readonly Json[] {
	return Array.isArray(value) ? (value as Json[]) : [];
}
