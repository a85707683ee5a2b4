import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { BlockLink } from "../engine/conversation/transcript.ts";
import { idAt, objectsOf, stringAt } from "./json-text/value.ts";
import type { MessageDraft } from "./parts.ts";

/**
 * Links a block to the blocks that it names by id, beside the links of calls and results. A server tool's result names its
 * call, a call that code made names that code, an answer to a question names the question.
 */
export function linkBlock(block: JsonObject, draft: MessageDraft): void {
	const type = stringAt(block, "type") ?? "";
	const id = idAt(block, "id");
	if (id !== undefined && serverCalls.test(type)) draft.addLink({ kind: "opens", id });
	const serverResult = serverResults.exec(type)?.[1];
	for (const key of references) {
		const named = idAt(block, key);
		if (named === undefined) continue;
		draft.addLink({ kind: "refers", id: named, ...(serverResult === undefined ? {} : { serverResult }) });
	}
	linkCaller(block, draft);
}

/** Blocks that others name, apart from calls: `server_tool_use`, `mcp_tool_use`, and LangChain's `server_tool_call`. */
const serverCalls = /_tool_use$|^server_tool_call$|_approval_request$/;

/** `web_search_tool_result`, `mcp_tool_result`, and LangChain's `server_tool_result`. */
const serverResults = /^(.+)_tool_result$/;

/** Members that hold the id of another block. */
const references = ["tool_use_id", "tool_call_id", "approval_request_id"];

/** Programmatic calls: the code that made a call, as APIs and SDKs spell it. */
const callers = ["tool_id", "toolId", "caller_id", "callerId", "call_id"];

/** Links a call to the code that made it. SDKs keep the `caller` next to the call, or among the fields of a provider. */
export function linkCaller(block: JsonObject, draft: MessageDraft): void {
	for (const { caller } of [block, ...providerFields(block)]) {
		if (!isJsonObject(caller)) continue;
		const id = callers.map((key) => idAt(caller, key)).find((one) => one !== undefined);
		if (id !== undefined) draft.addLink({ kind: "refers", id });
	}
}

/** Where SDKs keep the fields of one provider: by its name, or directly. */
const holders = ["providerOptions", "providerMetadata", "callProviderMetadata", "provider_details", "extras"];

function providerFields(block: JsonObject): JsonObject[] {
	const present = holders.filter((key) => Object.hasOwn(block, key) && isJsonObject(block[key]));
	return present.flatMap((key) => [block[key] as JsonObject, ...objectsOf(Object.values(block[key] as JsonObject))]);
}

/** Links a result of a server tool, or anything else, by ids that a format spells in its own way. */
export function linkTo(id: string | undefined, draft: MessageDraft, serverResult?: string): void {
	if (id === undefined) return;
	const link: BlockLink = { kind: "refers", id };
	draft.addLink(serverResult === undefined ? link : { ...link, serverResult });
}

export function openLink(id: string | undefined, draft: MessageDraft): void {
	if (id !== undefined) draft.addLink({ kind: "opens", id });
}
