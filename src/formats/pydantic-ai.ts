import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { MediaNode, Message, Path, Role } from "../conversation/transcript.ts";
import { cacheIncludedUsage } from "./answer.ts";
import { type Format, keptFields, probeEach, readTranscript } from "./format.ts";
import { idAt, listOf, objectOf, objectsOf, stringAt, timeAt } from "./json-values.ts";
import { readMedia } from "./media.ts";
import { MessageDraft, readOpenContent } from "./parts.ts";

/** Messages of PydanticAI. Its system prompts are parts of a request, and are read as messages of their own. */
export const pydanticAi: Format = {
	name: "pydantic-ai",
	title: "PydanticAI messages",
	looksFor: "PydanticAI messages (`kind` request or response, `parts` with a `part_kind`)",
	probe: ({ messages }) => probeEach(messages, "a message of `kind` request or response", probe),
	read(located) {
		const transcript = readTranscript("pydantic-ai", located, ["tools"], readMessage);
		// Each request has its instructions; the last ones are sent.
		const last = objectsOf(located.messages).findLast((message) => stringAt(message, "instructions"));
		const surroundings = last ? [...transcript.surroundings, String(last.instructions)] : transcript.surroundings;
		return { ...transcript, surroundings };
	},
	write: { message: writeMessage, appends: true },
};

function probe(message: unknown) {
	if (!isJsonObject(message)) return "an object with `kind` and `parts`";
	const [kind, parts] = [stringAt(message, "kind"), Object.hasOwn(message, "parts") ? message.parts : undefined];
	if (kind !== "request" && kind !== "response") return "`kind` request or response";
	if (!Array.isArray(parts)) return "`parts` as a list";
	const isPart = (part: unknown) => isJsonObject(part) && stringAt(part, "part_kind") !== undefined;
	return parts.every(isPart) || "`parts` with a `part_kind` each";
}

/** One message, or two where a request has a system prompt beside other parts. */
function readMessage(message: JsonObject, path: Path): Message[] {
	const parts = [...listOf(message.parts).entries()];
	if (message.kind === "response") return [readParts("assistant", message, { path, parts })];
	const isSystem = ([, part]: [number, unknown]) => objectOf(part).part_kind === "system-prompt";
	const prompts = parts.filter(isSystem);
	const others = parts.filter((part) => !isSystem(part));
	const groups: [Role, typeof parts][] = [
		["system", prompts],
		["user", others],
	];
	const found = groups.filter(([, group]) => group.length > 0 || parts.length === 0);
	if (parts.length === 0 || found.length === 1)
		return found.slice(-1).map(([role, group]) => readParts(role, message, { path, parts: group }));
	return found.map(([role, group]) => ({
		...readParts(role, message, { path, parts: group }),
		paths: group.map(([index]) => [...path, "parts", index]),
	}));
}

function readParts(
	role: Role,
	message: JsonObject,
	{ path, parts }: { readonly path: Path; readonly parts: readonly [number, unknown][] },
): MessageDraft {
	const times = [message, ...objectsOf(parts.map(([, part]) => part))].map((one) => timeAt(one, "timestamp"));
	const draft = new MessageDraft(role, path).setTime(times.find((time) => time !== undefined));
	const { input_tokens: input, cache_read_tokens: cached } = objectOf(message.usage);
	if (role === "assistant") draft.setUsage(cacheIncludedUsage({ input, cached, model: message.model_name }));
	for (const [index, part] of parts) if (isJsonObject(part)) readPart(part, [...path, "parts", index], draft);
	return draft;
}

function readPart(part: JsonObject, path: Path, draft: MessageDraft): void {
	const kind = stringAt(part, "part_kind");
	const content = [...path, "content"];
	const callId = idAt(part, "tool_call_id");
	if (kind === "tool-call") draft.addCall(callId, stringAt(part, "tool_name"), part.args);
	else if (kind === "tool-return") {
		const isError = part.outcome === "failed" || part.outcome === "denied" || undefined;
		draft.addResult({ callId, ...readOpenContent(part.content, content, readFile), isError });
	} else if (kind === "retry-prompt" && stringAt(part, "tool_name") !== undefined) {
		draft.addResult({ callId, ...readOpenContent(part.content, content), isError: true });
	} else if (kind === "thinking") {
		// OpenAI's reasoning items have an id. OpenAI checks no prefix.
		const isItem = stringAt(part, "id")?.startsWith("rs_") ?? false;
		draft.addThinking(path, part.content, !isItem && typeof part.signature === "string", isItem);
	} else if (kind === "file") draft.countPart(part.content, readFile(objectOf(part.content), content));
	else if (Object.hasOwn(part, "content")) {
		draft.readParts(part.content, content, (file, at) => draft.countPart(file, readFile(file, at)));
	} else draft.count(part);
}

/** `BinaryContent` and the URLs of images, recordings and documents. */
function readFile(file: JsonObject, path: Path): MediaNode | undefined {
	const kind = stringAt(file, "kind") ?? "";
	const type = (["image", "audio", "video", "document"] as const).find((one) => kind === `${one}-url`);
	if (type === undefined && kind !== "binary") return undefined;
	const write = (text: string) => text;
	const mediaType = stringAt(file, "media_type");
	return readMedia({ path, provider: "any", data: file.data ?? file.url, mediaType, kind: type, write });
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	const time = keptFields(instead, ["timestamp"]);
	const [first] = objectsOf(objectOf(instead).parts);
	if (role === "assistant") return { parts: [{ content: text, part_kind: "text" }], ...time, kind: "response" };
	const part = { content: text, ...keptFields(first, ["timestamp"]), part_kind: "user-prompt" };
	return { parts: [part], ...time, kind: "request" };
}
