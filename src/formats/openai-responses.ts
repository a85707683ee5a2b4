import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role, TextNode, ToolResult, WholeContent } from "../conversation/transcript.ts";
import {
	type CallInput,
	finishResponse,
	type GivenCall,
	type GivenResponse,
	hasMember,
	type LastResponse,
	objectsOf,
} from "./answer.ts";
import {
	addResult,
	type Fit,
	type Format,
	finishMessage,
	type LocatedMessages,
	type MessageDraft,
	readSurroundings,
	startMessage,
} from "./format.ts";
import { asCountedText, idAt, stringAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import { readTypedParts, type TypedParts } from "./parts.ts";

const looksFor =
	"OpenAI Responses items (messages with `input_text` or `output_text` parts, `function_call` and `function_call_output`)";

/** Item types that a record of another format could have too, with what tells an item of this one. */
const sharedTypes: Readonly<Record<string, (item: JsonObject) => boolean>> = {
	reasoning: (item) => Array.isArray(item.summary) || typeof item.encrypted_content === "string",
	compaction: (item) => typeof item.encrypted_content === "string",
	program: (item) => typeof item.call_id === "string",
	item_reference: (item) => typeof item.id === "string",
};

/** All other item types end so: `function_call`, `shell_call_output`, `mcp_approval_request`, `additional_tools`, … */
const ownTypes = /_(?:call|output|tools|approval_request|approval_response|trigger)$/;

/** Parts of messages that only this format has. */
const ownParts = new Set(["input_text", "output_text", "input_image", "input_file"]);

const foreignParts = new Set(["tool_use", "tool_result", "tool-call", "tool-result", "toolCall", "image_url", "image"]);

/**
 * The items of OpenAI's Responses API, as `input` of a request or as a bare list. What the model gave in one answer
 * (reasoning, text, calls, the work of the provider's own tools) is a run of items and becomes one message, so that
 * calls made in parallel stay together and reasoning goes with the calls it led to; each output is one of its own.
 */
export const openaiResponses: Format = {
	name: "openai-responses",
	title: "OpenAI Responses",
	looksFor,
	probe,
	read(located) {
		return {
			format: "openai-responses",
			messages: readResponseItems(located.messages, located.base),
			surroundings: readSurroundings(located, ["instructions", "system", "tools"]),
			opensWithUser: false,
		};
	},
	write: { message: writeMessage, appends: true },
	answer: { shape: "{status, incomplete_details, output} of OpenAI Responses", read: readAnswer },
};

function probe({ messages, base }: LocatedMessages): Fit {
	// No other request holds its conversation under this key, so that plain texts there are of this format.
	let fit: "certain" | "likely" | undefined = base.at(-1) === "input" ? "likely" : undefined;
	for (const [message, item] of messages.entries()) {
		const outcome = probeItem(item);
		if (typeof outcome === "string") return { fit: "none", message, expected: outcome };
		if (outcome) fit = "certain";
	}
	return fit ? { fit } : { fit: "none", message: 0, expected: "an item of its own kinds, such as `function_call`" };
}

/** Whether the item can only be of this format; a text says what it should have been instead. */
function probeItem(item: unknown): boolean | string {
	if (!isJsonObject(item)) return "an object with `type` or `role`";
	const type = stringAt(item, "type") ?? "message";
	if (type === "message") return probeMessage(item);
	if (ownTypes.test(type)) return true;
	const isOwn = Object.hasOwn(sharedTypes, type) && sharedTypes[type]?.(item) === true;
	return isOwn || "one of the item types of the Responses API";
}

function probeMessage(item: JsonObject): boolean | string {
	const role = stringAt(item, "role");
	if (role === undefined) return isBareReference(item) ? false : "an object with a string `role`, or an item's `type`";
	if (role === "tool" || role === "function") return `no \`role: "${role}"\``;
	if (item.tool_calls !== undefined && item.tool_calls !== null) return "calls as items of their own";
	if (item.parts !== undefined) return "`content`, not `parts`";
	const { content } = item;
	if (isJsonObject(content)) return "`content` as a string or a list of parts";
	if (!Array.isArray(content)) return false;
	let certain = false;
	for (const part of content as unknown[]) {
		if (!isJsonObject(part) || typeof part.type !== "string") return "content parts with a `type`";
		if (foreignParts.has(part.type)) return `content parts of its own kinds, not \`${part.type}\``;
		certain ||= ownParts.has(part.type);
	}
	return certain;
}

/** A reference to a stored item may leave out its type. */
function isBareReference(item: JsonObject): boolean {
	return typeof item.id === "string" && Object.keys(item).every((key) => key === "id" || key === "type");
}

/** What an assistant said is text alone here: its parts would want the id and the status of an answer of the API. */
function writeMessage({ role, text }: WrittenMessage) {
	return { type: "message", role, content: role === "user" ? [{ type: "input_text", text }] : text };
}

/** OpenAI Responses: a response, or the event that ends its stream and holds it. */
function readAnswer(given: JsonObject): LastResponse | undefined {
	const isEvent = stringAt(given, "type")?.startsWith("response.") === true && isJsonObject(given.response);
	const response = isEvent ? (given.response as JsonObject) : given;
	const { output, incomplete_details: details } = response;
	if (!Array.isArray(output) || !output.every(isAnswerItem)) return undefined;
	const isKnown = output.length > 0 || response.object === "response";
	if (!isKnown && !hasMember(response, "status", "incomplete_details")) return undefined;
	// The status says only that it is incomplete; a filter makes it so too.
	const reason = isJsonObject(details) ? details.reason : response.status;
	return finishResponse({ reason, ...readItems(output) });
}

function isAnswerItem(item: unknown): item is JsonObject {
	return isJsonObject(item) && (typeof item.type === "string" || item.role === "assistant");
}

function readItems(items: readonly JsonObject[]): Omit<GivenResponse, "reason"> {
	const texts = items.flatMap((item) => ((item.type ?? "message") === "message" ? readTexts(item.content) : []));
	const outputs = items.filter((item) => stringAt(item, "type")?.endsWith("_output"));
	// A call whose output came with it was run by the provider.
	const answered = new Set(outputs.map((item) => idAt(item, "call_id")));
	const calls = items.flatMap((item, index): GivenCall[] => {
		const call = readAnsweredCall(item, index === items.length - 1);
		return call && !(call.id !== undefined && answered.has(call.id)) ? [call] : [];
	});
	return { texts, calls };
}

function readTexts(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => stringAt(part, "text") ?? stringAt(part, "refusal") ?? []);
}

function readAnsweredCall(item: JsonObject, endsAnswer: boolean): GivenCall | undefined {
	const type = stringAt(item, "type") ?? "";
	const isIncomplete = item.status === "incomplete";
	if (type === "function_call" || type === "mcp_approval_request") {
		const id = idAt(item, type === "function_call" ? "call_id" : "id");
		const input: CallInput = isIncomplete ? { kind: "broken" } : { kind: "json", value: item.arguments };
		return { id, name: idAt(item, "name"), input, endsAnswer };
	}
	const id = idAt(item, "call_id");
	// Work of the provider's own tools has no id to answer to.
	if (!type.endsWith("_call") || isSearchByProvider(item) || (type !== "custom_tool_call" && !id)) return undefined;
	const name = type === "custom_tool_call" ? idAt(item, "name") : type.slice(0, -"_call".length);
	return { id, name, input: { kind: isIncomplete ? "broken" : "text" }, endsAnswer };
}

const roles: Readonly<Record<string, Role>> = {
	user: "user",
	assistant: "assistant",
	system: "system",
	developer: "system",
};

/** An answer of the model while its items are read. */
interface Answer {
	readonly role: "assistant";
	readonly paths: Path[];
	readonly draft: MessageDraft;
	/** References among its items whose call, if they are one, is not known yet. */
	openReferences: number;
	/** Index of the last output of its calls. */
	answeredBy: number;
}

interface Other {
	readonly role: Role;
	readonly paths: Path[];
	readonly draft: MessageDraft;
}

/**
 * Reads the items of a request as messages. A run of items that the model gave is one message; it ends at an output or
 * at a message of someone else. Reasoning and texts belong to the run, since the API wants a reasoning item beside the
 * item that followed it. What the model gives before all outputs of a run are in belongs to it as well: otherwise two
 * runs could become one when what stands between them is dropped.
 */
export function readResponseItems(items: readonly unknown[], base: Path): Message[] {
	const messages: (Answer | Other)[] = [];
	const callIds = readCallIds(items);
	const lastOutputs = findLastOutputs(items);
	const seen = new Set<string>();
	let latest: Answer | undefined;
	for (const [index, item] of items.entries()) {
		if (!isJsonObject(item)) continue;
		const path = [...base, index];
		const type = itemType(item);
		if (isOfAnswer(item, type)) {
			if (latest === undefined || (messages.at(-1) !== latest && latest.answeredBy < index)) {
				latest = { role: "assistant", paths: [], draft: startMessage(), openReferences: 0, answeredBy: -1 };
				messages.push(latest);
			}
			latest.paths.push(path);
			latest.answeredBy = Math.max(latest.answeredBy, lastOutputs.get(index) ?? -1);
			if (type === "item_reference") latest.openReferences += 1;
			const known = latest.draft.calls.length;
			readAnswerItem({ item, type, path }, latest.draft);
			for (const { id } of latest.draft.calls.slice(known)) if (id !== undefined) seen.add(id);
			continue;
		}
		const other = readOther(item, type, path, callIds);
		for (const { callId } of other.draft.results) {
			if (callId === undefined || seen.has(callId)) continue;
			seen.add(callId);
			// The call stands in a stored item, of which the list has only the reference.
			if (latest && latest.openReferences > 0) {
				latest.openReferences -= 1;
				latest.draft.calls.push({ id: callId, name: undefined });
			}
		}
		messages.push(other);
	}
	return messages.map(({ role, paths, draft }) => finishMessage(role, paths, draft));
}

function itemType(item: JsonObject): string {
	const type = stringAt(item, "type");
	if (type !== undefined) return type;
	return stringAt(item, "role") === undefined && stringAt(item, "id") !== undefined ? "item_reference" : "message";
}

function isOfAnswer(item: JsonObject, type: string): boolean {
	if (type === "message") return item.role === "assistant";
	if (isSearchByProvider(item)) return true;
	return !/_(?:output|approval_response|trigger)$/.test(type) && !["additional_tools", "compaction"].includes(type);
}

function readOther(item: JsonObject, type: string, path: Path, callIds: ReadonlyMap<string, string>): Other {
	const draft = startMessage();
	const as = (role: Role): Other => ({ role, paths: [path], draft });
	switch (type) {
		case "message": {
			const role = stringAt(item, "role") ?? "";
			countParts(item.content, draft);
			return as((Object.hasOwn(roles, role) && roles[role]) || "other");
		}
		case "compaction":
			// It stands for all that was compacted, so it has to stay as a system message does.
			draft.mediaTokens += sealedTokens(item);
			return as("system");
		case "additional_tools":
			draft.counted.push(asCountedText(item.tools));
			return as("system");
		case "compaction_trigger":
			return as("other");
		default:
			if (type === "computer_call_output") draft.mediaTokens += screenshotTokens(item);
			addResult(draft, readResponseOutput(item, type, path, callIds));
			return as("tool");
	}
}

/** The index of the last output of each call, by the call's index. An id that is used again is another call's. */
function findLastOutputs(items: readonly unknown[]): ReadonlyMap<number, number> {
	const byCall = new Map<number, number>();
	const byId = new Map<string, number>();
	for (const [back, item] of items.toReversed().entries()) {
		const index = items.length - 1 - back;
		const id = isJsonObject(item) ? idAt(item, "call_id") : undefined;
		if (!isJsonObject(item) || id === undefined) continue;
		const type = itemType(item);
		if (!isOfAnswer(item, type)) {
			if (!byId.has(id)) byId.set(id, index);
			continue;
		}
		const output = byId.get(id);
		if (output !== undefined) byCall.set(index, output);
		byId.delete(id);
	}
	return byCall;
}

/** Ids of calls of the local shell by the id of their item, since their outputs may name either. */
function readCallIds(items: readonly unknown[]): ReadonlyMap<string, string> {
	const callIds = new Map<string, string>();
	for (const item of items) {
		if (!isJsonObject(item) || item.type !== "local_shell_call") continue;
		const [id, callId] = [idAt(item, "id"), idAt(item, "call_id")];
		if (id !== undefined && callId !== undefined) callIds.set(id, callId);
	}
	return callIds;
}

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

type Output = ToolResult & { readonly counted: readonly string[] };

const nothing: TypedParts = { texts: [], whole: undefined, media: [], counted: [] };

/** Reads an item that answers a call. `callIds` are the calls of the local shell by the id of their item. */
export function readResponseOutput(
	item: JsonObject,
	type: string,
	path: Path,
	callIds: ReadonlyMap<string, string>,
): Output {
	const of = (content: TypedParts, isError?: boolean): Output => ({
		...content,
		callId: idAt(item, "call_id"),
		copies: [],
		isError,
	});
	const at = [...path, "output"];
	switch (type) {
		case "local_shell_call_output": {
			const id = idAt(item, "id");
			const callId = idAt(item, "call_id") ?? (id === undefined ? undefined : (callIds.get(id) ?? id));
			return { ...of(readContent(item.output, at)), callId };
		}
		case "shell_call_output":
			return of(readStreams(item.output, at), failedInShell(item.output));
		case "apply_patch_call_output": {
			const { status } = item;
			return of(readContent(item.output, at), status === "failed" ? true : status === "completed" ? false : undefined);
		}
		case "computer_call_output":
			return of(nothing);
		case "tool_search_output":
			return of({ ...nothing, counted: [asCountedText(item.tools)] });
		case "program_output":
			return of(readContent(item.result, [...path, "result"]));
		case "mcp_approval_response":
			return {
				...of({ ...nothing, counted: [asCountedText(item.reason)] }),
				callId: idAt(item, "approval_request_id"),
			};
		default:
			return of(readContent(item.output, at));
	}
}

/** The output that a call of the provider's own tools holds itself; `undefined` where it has none. */
export function readHeldOutput(item: JsonObject, type: string, path: Path): Output | undefined {
	const of = (content: TypedParts, isError?: boolean): Output => ({
		...content,
		callId: undefined,
		copies: [],
		isError,
	});
	switch (type) {
		case "mcp_call": {
			const failed = typeof item.error === "string" && item.error !== "";
			if (typeof item.output === "string")
				return of(readContent(item.output, [...path, "output"]), failed || undefined);
			return failed ? of(readContent(item.error, [...path, "error"]), true) : undefined;
		}
		case "file_search_call":
			if (!Array.isArray(item.results)) return undefined;
			return of(readList(item.results, [...path, "results"], "text", (text) => ({ text })));
		case "code_interpreter_call":
			if (!Array.isArray(item.outputs)) return undefined;
			return of(readList(item.outputs, [...path, "outputs"], "logs", (logs) => ({ type: "logs", logs })));
		default:
			return undefined;
	}
}

/** A string, or a list of parts. Anything else the API does not define. */
function readContent(content: unknown, path: Path): TypedParts {
	if (!Array.isArray(content)) return readTypedParts(content, path, readResponseMedia);
	const isText = content.length > 0 && content.every((part) => textOfPart(part) !== undefined);
	if (!isText) return readMixed(content, path);
	const texts = content.map(
		(part, index): TextNode => ({ path: [...path, index, "text"], text: textOfPart(part) ?? "" }),
	);
	const whole: WholeContent = { path, write: (text) => [{ ...(content[0] as JsonObject), text }] };
	return { ...nothing, texts, whole };
}

function readMixed(parts: readonly unknown[], path: Path): TypedParts {
	const read = parts.map((part, index): TypedParts => {
		const at = [...path, index];
		const text = textOfPart(part);
		if (text !== undefined) return { ...nothing, texts: [{ path: [...at, "text"], text }] };
		const media = isJsonObject(part) ? readResponseMedia(part, at) : undefined;
		return media ? { ...nothing, media: [media] } : { ...nothing, counted: [asCountedText(part)] };
	});
	return {
		texts: read.flatMap((one) => one.texts),
		whole: undefined,
		media: read.flatMap((one) => one.media),
		counted: read.flatMap((one) => one.counted),
	};
}

/** A list of objects that hold their text under `key`; beside them images of the code interpreter. */
function readList(list: readonly unknown[], path: Path, key: string, write: (text: string) => JsonObject): TypedParts {
	const read = list.map((one, index): TypedParts => {
		const at = [...path, index];
		const text = isJsonObject(one) ? stringAt(one, key) : undefined;
		if (text !== undefined) return { ...nothing, texts: [{ path: [...at, key], text }] };
		if (!isJsonObject(one) || one.type !== "image") return { ...nothing, counted: [asCountedText(one)] };
		const media = readMedia({ path: at, provider: "openai", kind: "image", data: one.url, write });
		return { ...nothing, media: [media] };
	});
	const texts = read.flatMap((one) => one.texts);
	const isText = texts.length > 0 && texts.length === list.length;
	return {
		texts,
		whole: isText ? { path, write: (text) => [write(text)] } : undefined,
		media: read.flatMap((one) => one.media),
		counted: read.flatMap((one) => one.counted),
	};
}

/**
 * The streams of the commands of a shell call. One text stands for all of them as the first one's standard output: the
 * others become empty, so that each command keeps its outcome.
 */
function readStreams(output: unknown, path: Path): TypedParts {
	if (!Array.isArray(output) || output.length === 0 || !output.every(isStreams)) return readContent(output, path);
	const chunks = output as readonly JsonObject[];
	const texts = chunks.flatMap((chunk, index) =>
		["stdout", "stderr"].flatMap((key): TextNode[] => {
			const text = stringAt(chunk, key);
			return text ? [{ path: [...path, index, key], text }] : [];
		}),
	);
	const write = (text: string) =>
		chunks.map((chunk, index) => ({ ...chunk, stdout: index === 0 ? text : "", stderr: "" }));
	return { ...nothing, texts, whole: texts.length > 0 ? { path, write } : undefined };
}

function isStreams(chunk: unknown): boolean {
	return isJsonObject(chunk) && stringAt(chunk, "stdout") !== undefined && stringAt(chunk, "stderr") !== undefined;
}

/** Whether a command ended otherwise than with exit code 0. */
function failedInShell(output: unknown): boolean | undefined {
	if (!Array.isArray(output)) return undefined;
	const outcomes = output.map((chunk: unknown) => (isJsonObject(chunk) ? chunk.outcome : undefined));
	const known = outcomes.filter(isJsonObject);
	if (known.length === 0) return undefined;
	return known.some(({ type, exit_code }) => type === "timeout" || (typeof exit_code === "number" && exit_code !== 0));
}

/**
 * Tokens of the screenshot that answers a computer call. It is the only thing that such a call takes for an answer, so
 * that no text can stand in its place.
 */
export function screenshotTokens(item: JsonObject): number {
	const data = isJsonObject(item.output) ? item.output.image_url : undefined;
	return readMedia({ path: [], provider: "openai", kind: "image", data }).tokens;
}

const textParts = new Set(["input_text", "output_text", "text", "summary_text", "reasoning_text"]);

/** The text of a part of a message, of an output or of reasoning; `undefined` where it holds something else. */
export function textOfPart(part: unknown): string | undefined {
	return isJsonObject(part) && textParts.has(stringAt(part, "type") ?? "") ? stringAt(part, "text") : undefined;
}

/** Counts the parts of a message or of reasoning; a text may stand in the place of the list. */
export function countParts(content: unknown, message: MessageDraft): void {
	if (!Array.isArray(content)) {
		if (content !== undefined && content !== null) message.counted.push(asCountedText(content));
		return;
	}
	for (const part of content as unknown[]) {
		const media = isJsonObject(part) ? readResponseMedia(part, []) : undefined;
		const refusal = isJsonObject(part) && part.type === "refusal" ? part.refusal : undefined;
		if (media) message.mediaTokens += media.tokens;
		else message.counted.push(asCountedText(textOfPart(part) ?? refusal ?? part));
	}
}

/** An image or a file, in a message or in an output. */
export function readResponseMedia(part: JsonObject, path: Path): MediaNode | undefined {
	const write = (text: string) => ({ type: "input_text", text });
	const provider = "openai";
	if (part.type === "input_image") {
		const detail = stringAt(part, "detail");
		return readMedia({ path, provider, kind: "image", data: part.image_url, detail, write });
	}
	if (part.type === "input_file") {
		return readMedia({ path, provider, kind: "document", data: part.file_data ?? part.file_url, write });
	}
	return undefined;
}

/**
 * Tokens of what only OpenAI can read, by Codex's own estimate: the bytes that the base64 stands for less 650 of
 * framing, at four bytes a token. Source: github.com/openai/codex, codex-rs/core, `estimate_reasoning_length`.
 */
export function sealedTokens(item: JsonObject): number {
	const length = stringAt(item, "encrypted_content")?.length ?? 0;
	return Math.ceil(Math.max(0, (length * 3) / 4 - 650) / 4);
}
