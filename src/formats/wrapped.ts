import type { WrittenMessage } from "../engine/conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Path } from "../engine/conversation/paths.ts";
import type { MediaNode, Message, TextNode, ToolResult } from "../engine/conversation/transcript.ts";
import { cacheIncludedUsage } from "./answer.ts";
import { anthropicMessages } from "./anthropic.ts";
import { type Format, idOfText, keptFields, type LocatedMessages, type Probed, probeEach } from "./format.ts";
import { gemini } from "./gemini.ts";
import { hasMember, memberAt, objectOf, stringAt, timeAt } from "./json-text/value.ts";
import { recordChain } from "./session-files.ts";
import { vercelModel } from "./vercel-model.ts";

/** A session whose records each hold a message of another format under a key. */
interface Wrapping {
	readonly format: Pick<Format, "name" | "title" | "looksFor"> & Partial<Pick<Format, "links">>;
	readonly inner: Format;
	readonly key: string;
	/** Whether a value is a record of this session; those without a message under the key are of no message. */
	readonly isRecord: (record: JsonObject) => Probed;
	/** Members that a written record takes over from the one that it replaces, and those of one that replaces none. */
	readonly kept: readonly string[];
	readonly blank: (role: WrittenMessage["role"]) => JsonObject;
	/** The records of the conversation, in order; by default all. */
	readonly chain?: (records: readonly unknown[]) => readonly number[];
	/** What a record says of its message. */
	readonly beside?: (record: JsonObject) => Pick<Message, "time" | "usage" | "sent">;
}

/** Sessions of Google's Agent Development Kit (1.x and 2.0, in both spellings): each event has a content of Gemini. */
export const adk = wrapped({
	format: {
		name: "adk",
		title: "Google ADK session",
		looksFor: "Google ADK session (`events` with `author`, `invocationId` and a Gemini `content` each)",
	},
	inner: gemini,
	key: "content",
	isRecord: (event) =>
		(stringAt(event, "author") !== undefined && hasMember(event, "invocationId", "invocation_id")) ||
		"an event with `author` and `invocationId`",
	kept: ["id", "author", "invocationId", "invocation_id", "timestamp"],
	blank: (role) => ({ author: role === "user" ? role : "model", invocationId: "" }),
	beside(event) {
		const usage = objectOf(memberAt(event, "usageMetadata", "usage_metadata"));
		const input = memberAt(usage, "promptTokenCount", "prompt_token_count");
		const cached = memberAt(usage, "cachedContentTokenCount", "cached_content_token_count") ?? 0;
		const read = cacheIncludedUsage({ input, cached, model: memberAt(event, "modelVersion", "model_version") });
		// Pieces of a streamed answer come again in its last event.
		return {
			...timeOf(event, "timestamp"),
			...(read && { usage: read }),
			...(event.partial === true && { sent: false }),
		};
	},
});

/** Messages as the agent component of Convex stores them: `message` is one of the Vercel AI SDK. */
export const convexAgent = wrapped({
	format: {
		name: "convex-agent",
		title: "Convex agent messages",
		looksFor: "Convex agent messages (`message` with a `role`, beside `threadId` and `order`)",
	},
	inner: vercelModel,
	key: "message",
	isRecord: (record) =>
		(hasMember(record, "threadId") && hasMember(record, "order")) || "a document with `threadId` and `order`",
	kept: ["_id", "_creationTime", "threadId", "order", "stepOrder", "status"],
	blank: () => ({ threadId: "", order: 0 }),
	beside: (record) => timeOf(record, "_creationTime"),
});

/** Sessions of Factory Droid: records of `type` message have a message of the Messages API, and are linked. */
export const droid = wrapped({
	format: {
		name: "droid",
		title: "Factory Droid session",
		looksFor: "Factory Droid session (records of `type` message with a `message` each, after one of session_start)",
		links: { id: ["id"], parent: ["parentId"], chain: ({ messages }) => branchOf(messages) },
	},
	inner: anthropicMessages,
	key: "message",
	isRecord: (record) =>
		stringAt(record, "type") === "session_start" ||
		(stringAt(record, "type") === undefined && "a record with a string `type`"),
	kept: ["id", "timestamp", "parentId"],
	blank: () => ({ type: "message" }),
	chain: (records) => branchOf(records).toSorted((a, b) => a - b),
	beside: (record) => timeOf(record, "timestamp"),
});

function timeOf(record: JsonObject, key: string): Pick<Message, "time"> {
	const time = timeAt(record, key);
	return time === undefined ? {} : { time };
}

/** From the last record back. */
function branchOf(records: readonly unknown[]): readonly number[] {
	const isNode = (index: number) => objectOf(records[index]).type !== "session_start";
	const last = records.findLastIndex((record, index) => isJsonObject(record) && isNode(index));
	if (last === -1) return [];
	return recordChain(records, last, { id: "id", parent: "parentId", isNode, isStart: () => false });
}

function wrapped(wrapping: Wrapping): Format {
	const { format, inner, key, isRecord, kept } = wrapping;
	const innerOf = (records: readonly unknown[], indexes: readonly number[]): LocatedMessages => {
		const messages = indexes.map((index) => (records[index] as JsonObject)[key]);
		return { document: messages, base: [], messages };
	};
	const holding = (records: readonly unknown[], indexes: readonly number[] = [...records.keys()]) =>
		indexes.filter((index) => isJsonObject(objectOf(records[index])[key]));
	return {
		...format,
		probe({ messages: records }) {
			const evidence = `records with a message of ${inner.title}`;
			const fit = probeEach(records, evidence, (record) => (isJsonObject(record) ? isRecord(record) : "an object"));
			if (fit.fit === "none") return fit;
			// Texts alone are evidence of no format.
			const indexes = holding(records).filter((index) => {
				return typeof objectOf((records[index] as JsonObject)[key]).content !== "string";
			});
			if (indexes.length === 0) return fit;
			const held = inner.probe(innerOf(records, indexes));
			return held.fit === "none" ? { ...held, message: indexes[held.message] ?? held.message } : fit;
		},
		read({ messages: records, base }) {
			const indexes = holding(records, wrapping.chain?.(records));
			const transcript = inner.read(innerOf(records, indexes));
			const place = ([first, ...rest]: Path): Path => {
				const record = [...base, indexes[Number(first)] ?? 0];
				return rest.length === 0 ? record : [...record, key, ...rest];
			};
			const messages = transcript.messages.map((message) => {
				const record = objectOf(records[indexes[Number(message.paths[0]?.[0])] ?? 0]);
				return { ...moved(message, place), ...wrapping.beside?.(record) };
			});
			return { ...transcript, format: format.name, messages };
		},
		write: {
			message: (given) => writeRecord(given, wrapping),
			appends: false,
		},
		...(format.links ? { links: format.links } : {}),
	};

	function writeRecord({ instead, ...given }: WrittenMessage, { inner: { write } }: Wrapping): JsonObject {
		const held = isJsonObject(instead) ? instead[key] : undefined;
		const message = write.message(held === undefined ? given : { ...given, instead: held });
		const own = { ...wrapping.blank(given.role), ...keptFields(instead, kept) };
		return {
			...(hasMember(own, "id") ? {} : { id: idOfText(`${given.role}\n${given.text}`) }),
			...own,
			[key]: message,
		};
	}
}

/** The message at other places of the document. */
function moved(message: Message, place: (path: Path) => Path): Message {
	const movedText = (node: TextNode): TextNode => ({ ...node, path: place(node.path) });
	const movedMedia = (node: MediaNode): MediaNode => ({
		...node,
		path: place(node.path),
		...(node.texts && { texts: node.texts.map(movedText) }),
	});
	const movedResult = (result: ToolResult): ToolResult => ({
		...result,
		texts: result.texts.map(movedText),
		whole: result.whole && { ...result.whole, path: place(result.whole.path) },
		copies: result.copies.map(movedText),
		media: result.media.map(movedMedia),
		mediaCopies: result.mediaCopies?.map(movedText) ?? [],
		inPlaceOfMedia: result.inPlaceOfMedia?.map(movedText),
		...(result.repeats && { repeats: result.repeats.map(place) }),
	});
	return {
		...message,
		paths: message.paths.map(place),
		results: message.results.map(movedResult),
		thinking: message.thinking.map((block) => ({ ...block, path: place(block.path) })),
	};
}
