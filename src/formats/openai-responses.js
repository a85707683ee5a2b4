import { isJsonObject } from "../engine/conversation/json.js";
import { cacheIncludedUsage, callsAmong, finishResponse } from "./answer.js";
import { linkCaller, linkTo } from "./block-links.js";
import { contentPart, plainRoles, probeEach, probeParts, readSurroundings, roleOf, transcriptOf } from "./format.js";
import { hasMember, idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-text/value.js";
import { readMedia } from "./media.js";
import { added, MessageDraft, unsent } from "./parts.js";
import { countParts, readHeldOutput, readOutput, screenshotTokens } from "./response-outputs.js";

/** Item types that other formats may have too, with the member that only items of this one have. */
const sharedTypes = {
	reasoning: (item) => Array.isArray(item.summary) || typeof item.encrypted_content === "string",
	compaction: (item) => typeof item.encrypted_content === "string",
	program: (item) => typeof item.call_id === "string",
	item_reference: (item) => typeof item.id === "string",
	agent_message: (item) => typeof item.recipient === "string" && Array.isArray(item.content),
};
/** Endings of all other item types: `function_call`, `shell_call_output`, `additional_tools`, … */
const ownTypes = /_(?:call|output|tools|approval_request|approval_response|trigger)$/;
/** The members of those items. Another format may have a type that only ends alike. */
const ownMembers = ["call_id", "status", "action", "tools", "arguments", "output", "approval_request_id"];
const partTypes = { own: ["input_text", "output_text", "input_image", "input_file"], foreign: ["image_url", "image"] };
const roles = { ...plainRoles, developer: "system" };
/** A run of the model's items (reasoning, text, calls) becomes one message, so that parallel calls stay together. */
export const openaiResponses = {
	name: "openai-responses",
	title: "OpenAI Responses",
	looksFor:
		"OpenAI Responses items (messages with `input_text` or `output_text` parts, `function_call` and `function_call_output`)",
	probe: ({ messages, base }) =>
		// No other request has its conversation under this key.
		probeEach(
			messages,
			base.at(-1) === "input" ? { fit: "likely" } : "an item of its own kinds, such as `function_call`",
			probeItem,
		),
	read({ messages, base, document }) {
		const surroundings = readSurroundings(document, ["instructions", "system", "tools"]);
		const items = messages.flatMap((item, index) => (isJsonObject(item) ? placedItems(item, [...base, index]) : []));
		const read = readItems(items, ({ item, path }, type, shellCalls) => readOther(item, type, path, shellCalls));
		return transcriptOf("openai-responses", read, surroundings);
	},
	write: { message: writeMessage, part: { ...contentPart, write: writeText }, appends: true },
	answer: { shape: "{status, incomplete_details, output} of OpenAI Responses", read: readAnswer },
};
function placedItems(value, path) {
	if (!isResponse(value)) return [{ item: value, path, removal: path }];
	const time = timeAt(objectOf(value.extra), "timestamp");
	const { input_tokens: input, input_tokens_details: details } = objectOf(value.usage);
	const cached = objectOf(details).cached_tokens;
	const usage = cacheIncludedUsage({ input, cached, model: value.model });
	return value.output.flatMap((item, index) => {
		const at = [...path, "output", index];
		return isJsonObject(item) ? [{ item, path: at, removal: path, opensAnswer: index === 0, time, usage }] : [];
	});
}
/** A whole answer of the API among the items, as mini-swe-agent keeps it: dropped with all of its items. */
function isResponse(value) {
	return value.object === "response" && Array.isArray(value.output);
}
function probeItem(item) {
	if (!isJsonObject(item)) return "an object with `type` or `role`";
	if (isResponse(item)) return item.output.map(probeItem).find((one) => typeof one === "string") ?? true;
	const type = stringAt(item, "type") ?? "message";
	if (type === "message") return probeMessage(item);
	if (ownTypes.test(type)) return isOfOwnKind(item, type);
	const isOwn = Object.hasOwn(sharedTypes, type) && sharedTypes[type]?.(item) === true;
	return isOwn || "one of the item types of the Responses API";
}
function probeMessage(item) {
	const role = stringAt(item, "role");
	if (role === undefined) {
		// A reference to a stored item may leave out its type.
		const isReference = typeof item.id === "string" && Object.keys(item).every((key) => key === "id" || key === "type");
		return isReference ? false : "an object with a string `role`, or an item's `type`";
	}
	if (role === "tool" || role === "function") return `no \`role: "${role}"\``;
	if (item.tool_calls != null) return "calls as items of their own";
	if (item.parts !== undefined) return "`content`, not `parts`";
	const { content } = item;
	if (isJsonObject(content)) return "`content` as a string or a list of parts";
	return Array.isArray(content) && probeParts(content, partTypes);
}
/**
 * Reads items as messages. A run of items of the model is one message, which ends at an output of its calls or at a
 * message of someone else. A late output of an earlier call does not end it: otherwise two runs could become one when
 * that output is dropped. No later item changes how the items before it are read.
 */
export function readItems(items, readOtherItem) {
	const messages = [];
	const shellCalls = new Map();
	const seen = new Set();
	let answer;
	let isOpen = false;
	for (const [index, placed] of items.entries()) {
		const { item, path, removal, sent = true, opensAnswer = false, time, usage } = placed;
		const type = itemType(item);
		// The API requires reasoning together with the item after it.
		if (isOfNewKind(item, type) && !(isOpen && items[index - 1]?.item.type === "reasoning")) {
			messages.push({ sent, message: new MessageDraft("other", removal).setTime(time).count(item) });
			continue;
		}
		if (isOfAnswer(item, type)) {
			if (!answer || !isOpen || opensAnswer || answer.sent !== sent) {
				const message = new MessageDraft("assistant").setTime(time);
				answer = { message, sent, ids: new Set(), openReferences: 0 };
				messages.push(answer);
				isOpen = true;
			}
			const { message, ids } = answer;
			message.setUsage(usage);
			if (message.paths.at(-1) !== removal) message.paths.push(removal);
			if (type === "item_reference") answer.openReferences += 1;
			const known = message.calls.length;
			readAnswerItem(item, type, path, message);
			for (const { id } of message.calls.slice(known)) {
				ids.add(id);
				seen.add(id ?? "");
			}
			if (type === "local_shell_call") shellCalls.set(idAt(item, "id") ?? "", idAt(item, "call_id") ?? "");
			continue;
		}
		const other = readOtherItem(placed, type, shellCalls);
		for (const { callId } of other.results) {
			if (callId === undefined || seen.has(callId)) continue;
			seen.add(callId);
			// The call is a stored item; the list has only a reference to it.
			if (answer && answer.openReferences > 0) {
				answer.openReferences -= 1;
				answer.message.calls = added(answer.message.calls, { id: callId, name: undefined });
				answer.ids.add(callId);
			}
		}
		messages.push({ sent, message: other });
		const isLate = other.results.some(({ callId }) => !answer?.ids.has(callId));
		isOpen &&= isLate;
	}
	return messages.map(({ sent, message }) => (sent ? message : unsent(message)));
}
function itemType(item) {
	const type = stringAt(item, "type");
	if (type !== undefined) return type;
	return stringAt(item, "role") === undefined && stringAt(item, "id") !== undefined ? "item_reference" : "message";
}
/** The last two come from Codex. */
const compactions = new Set(["compaction", "compaction_summary", "context_compaction"]);
/** Types without an ending that tells who wrote the item. */
const plainTypes = new Set([
	...["message", "reasoning", "program", "item_reference", "agent_message", "mcp_list_tools", "ghost_snapshot"],
	...compactions,
]);
/** Whether nothing is known of an item but its type: it stays where it is, and counts. */
function isOfNewKind(item, type) {
	return !plainTypes.has(type) && !isOfOwnKind(item, type);
}
function isOfOwnKind(item, type) {
	const isNamed = Object.hasOwn(callKinds, type) || type === "compaction_trigger";
	return ownTypes.test(type) && (isNamed || hasMember(item, ...ownMembers));
}
export function isOfAnswer(item, type) {
	if (type === "message") return item.role === "assistant";
	if (type === "agent_message") return false;
	if (isSearchByProvider(item)) return true;
	return !compactions.has(type) && !/_(?:output|approval_response|trigger|tools)$/.test(type);
}
function isSearchByProvider(item) {
	const { type, execution } = item;
	if (type !== "tool_search_call" && type !== "tool_search_output") return false;
	return execution === "server" || idAt(item, "call_id") === undefined;
}
/** Reads an item that is not part of an answer. */
export function readOther(item, type, path, shellCalls) {
	if (type === "message") {
		const draft = new MessageDraft(roleOf(item, roles), path);
		countParts(item.content, draft);
		return draft;
	}
	if (type === "agent_message") {
		// What another agent tells this one, such as its task. Nobody else can repeat one that is sealed, so it stays.
		const sealed = objectsOf(item.content).filter((part) => typeof part.encrypted_content === "string");
		const draft = new MessageDraft(sealed.length > 0 ? "other" : "user", path).count(item.author);
		countParts(
			listOf(item.content).filter((part) => !sealed.includes(part)),
			draft,
		);
		for (const part of sealed) draft.mediaTokens += encryptedTokens(part);
		return draft;
	}
	if (compactions.has(type) || type === "additional_tools") {
		// Kept like a system message: without it, the program would send the originals again.
		const draft = new MessageDraft("system", path);
		draft.mediaTokens += encryptedTokens(item);
		return draft.count(item.tools);
	}
	if (type === "compaction_trigger") return new MessageDraft("other", path);
	if (isOfNewKind(item, type)) return new MessageDraft("other", path).count(item);
	const draft = new MessageDraft("tool", path);
	if (type === "computer_call_output") draft.mediaTokens += screenshotTokens(item);
	const itemId = type === "local_shell_call_output" ? idAt(item, "id") : undefined;
	const callId = idAt(item, type === "mcp_approval_response" ? "approval_request_id" : "call_id");
	draft.addResult({
		callId: callId ?? (itemId && (shellCalls?.get(itemId) || itemId)),
		...readOutput(item, type, path),
	});
	return draft;
}
/** The members of each kind of call: its input, and the id to which its output refers. */
const callKinds = {
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
export function readAnswerItem(item, type, path, answer) {
	const kind = Object.hasOwn(callKinds, type) ? callKinds[type] : undefined;
	linkCaller(item, answer);
	linkTo(idAt(item, "approval_request_id"), answer);
	if (kind) {
		const held = readHeldOutput(item, type, path);
		const name = kind.name ?? stringAt(item, "name");
		const input = item[kind.input] ?? item.actions;
		const id = idAt(item, kind.id) ?? (type === "local_shell_call" ? idAt(item, "id") : undefined);
		const isAnswered = kind.id === "call_id" ? !isSearchByProvider(item) : held || type === "mcp_approval_request";
		if (isAnswered) answer.addCall(id, name, input);
		// A call of the provider's own tools without a separate output is only counted.
		else answer.count(name, input);
		if (held) answer.addResult({ ...held, callId: id });
		return;
	}
	if (type === "message") countParts(item.content, answer);
	else if (type === "reasoning") {
		const before = answer.counted.length;
		countParts(item.summary, answer);
		countParts(item.content, answer);
		answer.mediaTokens += encryptedTokens(item);
		const text = answer.counted.slice(before).join("\n");
		// OpenAI checks no binding to earlier items, but requires the item together with the one that followed it.
		answer.thinking = added(answer.thinking, { path, text, bound: false, fixed: true });
	} else if (type === "image_generation_call") {
		const { result: data } = item;
		if (typeof data !== "string") return;
		answer.mediaTokens += readMedia({ path, provider: "openai", kind: "image", data }).tokens;
	} else if (type !== "item_reference") {
		const id = idAt(item, "call_id");
		if (id !== undefined && type.endsWith("_call")) {
			answer.calls = added(answer.calls, { id, name: type.slice(0, -"_call".length) });
		}
		// The provider's own tools, and items of unknown types, are counted and never edited.
		answer.count(item.action ?? item.tools ?? item);
	}
}
/** Tokens of an encrypted text by Codex's estimate (`estimate_reasoning_length` in codex-rs/core): less 650 bytes of frame. */
function encryptedTokens(item) {
	const length = stringAt(item, "encrypted_content")?.length ?? 0;
	return Math.ceil(Math.max(0, (length * 3) / 4 - 650) / 4);
}
/** Writes an assistant message as plain text, since parts would need the id and the status of an answer. */
function writeMessage({ role, text }) {
	return { type: "message", role, content: role === "user" ? [writeText(text)] : text };
}
function writeText(text) {
	return { type: "input_text", text };
}
/** A response, or the last event of its stream. */
function readAnswer(given) {
	const isEvent = stringAt(given, "type")?.startsWith("response.") && isJsonObject(given.response);
	const response = isEvent ? given.response : given;
	const { output, incomplete_details: details } = response;
	const isItem = (item) => isJsonObject(item) && (typeof item.type === "string" || item.role === "assistant");
	if (!Array.isArray(output) || !output.every(isItem)) return undefined;
	const isKnown = output.length > 0 || response.object === "response";
	if (!isKnown && !hasMember(response, "status", "incomplete_details")) return undefined;
	const texts = output.flatMap((item) => ((item.type ?? "message") === "message" ? readTexts(item.content) : []));
	const outputs = output.filter((item) => stringAt(item, "type")?.endsWith("_output"));
	// A call whose output is in the answer was run by the provider.
	const answered = new Set(outputs.flatMap((item) => idAt(item, "call_id") ?? []));
	const calls = callsAmong(output, readGivenCall).filter(({ id }) => id === undefined || !answered.has(id));
	// The status of an answer that a filter stopped is incomplete too.
	const reason = isJsonObject(details) ? details.reason : response.status;
	return finishResponse({ reason, texts, calls });
}
function readTexts(content) {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => stringAt(part, "text") ?? stringAt(part, "refusal") ?? []);
}
function readGivenCall(item) {
	const type = stringAt(item, "type") ?? "";
	const isIncomplete = item.status === "incomplete";
	if (type === "function_call" || type === "mcp_approval_request") {
		const id = idAt(item, type === "function_call" ? "call_id" : "id");
		const input = isIncomplete ? { kind: "broken" } : { kind: "json", value: item.arguments };
		return { id, name: idAt(item, "name"), input };
	}
	const id = idAt(item, "call_id");
	// A call of the provider's own tools has no id that an output could name.
	if (!type.endsWith("_call") || isSearchByProvider(item) || (type !== "custom_tool_call" && !id)) return undefined;
	const name = type === "custom_tool_call" ? idAt(item, "name") : type.slice(0, -"_call".length);
	return { id, name, input: { kind: isIncomplete ? "broken" : "text" } };
}
