import type { Path } from "../../engine/path.ts";
import { asCountedText, idAt, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia } from "../media/read-media.ts";
import { addResult, type MessageDraft } from "../message-draft.ts";
import { readHeldOutput } from "./response-output.ts";
import { countParts, sealedTokens } from "./response-parts.ts";

/** Where each kind of call has its name, its input, and the id that its output names; `name` is the tool's own. */
const callKinds: Readonly<Record<string, { name?: string; input: string; id: "call_id" | "id" }>> = {
	function_call: { input: "arguments", id: "call_id" },
	custom_tool_call: { input: "input", id: "call_id" },
	local_shell_call: { name: "local_shell", input: "action", id: "call_id" },
	shell_call: { name: "shell", input: "action", id: "call_id" },
	apply_patch_call: { name: "apply_patch", input: "operation", id: "call_id" },
	computer_call: { name: "computer", input: "action", id: "call_id" },
	tool_search_call: { name: "tool_search", input: "arguments", id: "call_id" },
	program: { name: "program", input: "code", id: "call_id" },
	mcp_approval_request: { input: "arguments", id: "id" },
	mcp_call: { input: "arguments", id: "id" },
	file_search_call: { name: "file_search", input: "queries", id: "id" },
	code_interpreter_call: { name: "code_interpreter", input: "code", id: "id" },
};

/** Reads an item of an answer into the message that the answer is. */
export function readAnswerItem(at: { item: JsonObject; type: string; path: Path }, answer: MessageDraft): void {
	const { item, type, path } = at;
	const kind = Object.hasOwn(callKinds, type) ? callKinds[type] : undefined;
	if (kind) {
		const held = readHeldOutput(item, type, path);
		const name = kind.name ?? stringAt(item, "name");
		answer.counted.push(name ?? "", asCountedText(item[kind.input] ?? item.actions));
		// A call of the provider's own tools that has no output to pair is opaque.
		const id = idAt(item, kind.id) ?? (type === "local_shell_call" ? idAt(item, "id") : undefined);
		if (kind.id === "call_id" ? !isSearchByProvider(item) : held || type === "mcp_approval_request") {
			answer.calls.push({ id, name });
		}
		if (held) addResult(answer, { ...held, callId: id });
		return;
	}
	switch (type) {
		case "message":
			countParts(item.content, answer);
			break;
		case "reasoning": {
			const before = answer.counted.length;
			countParts(item.summary, answer);
			countParts(item.content, answer);
			answer.mediaTokens += sealedTokens(item);
			const text = answer.counted.slice(before).join("\n");
			// OpenAI checks no binding to what stands before, but wants the item beside what followed it.
			answer.thinking.push({ path, text, bound: false, fixed: true });
			break;
		}
		case "image_generation_call":
			if (typeof item.result === "string") {
				answer.mediaTokens += readMedia({ path, provider: "openai", kind: "image", data: item.result }).tokens;
			}
			break;
		case "item_reference":
			break;
		default: {
			const id = idAt(item, "call_id");
			if (id !== undefined && type.endsWith("_call")) answer.calls.push({ id, name: type.slice(0, -"_call".length) });
			// What the provider's own tools did, and what is not known: opaque.
			answer.counted.push(asCountedText(item.action ?? item.tools ?? item));
		}
	}
}

/** Whether a search of tools came with the answer: what the client searches it answers itself. */
export function isSearchByProvider(item: JsonObject): boolean {
	const { type, execution } = item;
	if (type !== "tool_search_call" && type !== "tool_search_output") return false;
	return execution === "server" || idAt(item, "call_id") === undefined;
}
