import type { Path } from "../../engine/path.ts";
import type { Message } from "../../engine/transcript.ts";
import type { Fit, Format, LocatedMessages } from "../format.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia, tokensOfMedia } from "../media/read-media.ts";
import { type CopilotEvent, conversationEvents } from "./copilot-events.ts";
import { readCopilotResult } from "./copilot-result.ts";
import { writeCopilot } from "./write-copilot.ts";

/** Event types that only this format has. */
const ownTypes = /^(?:session|user|assistant|system|tool|subagent|hook|permission)\.[a-z_.]+$/;

/**
 * The session log of GitHub Copilot CLI (`events.jsonl`). Messages are the events of which a model is sent something;
 * hooks, permissions, starts of tools (they repeat the arguments) and whatever a sub-agent did stay as they are. No
 * reasoning counts as bound: Copilot strips what is encrypted of it when a session is resumed.
 */
export const copilotCli: Format = {
	name: "copilot-cli",
	title: "GitHub Copilot CLI session",
	looksFor: "GitHub Copilot CLI session (events with a `type` such as assistant.message, and `data`)",
	probe,
	read({ messages, base }) {
		return {
			format: "copilot-cli",
			messages: readEvents(conversationEvents(messages as readonly JsonObject[]), base),
			surroundings: [],
			opensWithUser: false,
		};
	},
	links: { id: ["id"], parent: ["parentId"] },
	write: { message: writeCopilot, appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	let certain = false;
	for (const [message, event] of messages.entries()) {
		const type = isJsonObject(event) ? stringAt(event, "type") : undefined;
		if (type === undefined) return { fit: "none", message, expected: "an event with a string `type`" };
		if (!isJsonObject((event as JsonObject).data)) return { fit: "none", message, expected: "an event with `data`" };
		certain ||= ownTypes.test(type);
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: "an event such as user.message" };
}

function readEvents(events: readonly CopilotEvent[], base: Path): Message[] {
	const messages: Message[] = [];
	const argumentsOf = new Map<string, ReadonlySet<unknown>>();
	let response: string | undefined;
	for (const { index, kind, data, sent } of events) {
		const path = [...base, index];
		const previous = messages.at(-1);
		const chunkOf = kind === "assistant" ? idAt(data, "apiCallId") : undefined;
		if (kind === "assistant") {
			for (const { id, values } of requestsIn(data)) if (id !== undefined) argumentsOf.set(id, values);
			const message = readAssistant(data, path);
			// One answer of the model may be split over several events; its calls are parallel.
			if (previous && chunkOf !== undefined && chunkOf === response) messages.splice(-1, 1, join(previous, message));
			else messages.push(message);
		} else if (kind === "tool") {
			messages.push(readCopilotResult(data, path, argumentsOf));
		} else {
			messages.push(readText(data, path, kind));
		}
		const latest = messages.at(-1);
		if (!sent && latest) messages.splice(-1, 1, { ...latest, sent: false });
		response = chunkOf;
	}
	return messages;
}

function readText(data: JsonObject, path: Path, kind: "system" | "user" | "summary"): Message {
	// The model is sent the transformed text; `content` of a user message is what the timeline shows.
	const keys = ["transformedContent", "summaryContent", "initialMessage", "content"];
	const text = keys.map((key) => stringAt(data, key)).find((value) => value !== undefined);
	const attachments = Array.isArray(data.attachments) ? (data.attachments as unknown[]) : [];
	const media = attachments.flatMap((one, index) =>
		isJsonObject(one) && one.type === "blob" && one.omittedReason === undefined
			? [readMedia({ path: [...path, "data", "attachments", index], provider: "any", ...blobOf(one) })]
			: [],
	);
	return {
		// What a summary stands for would be sent again without it, so it stays as a system message does.
		role: kind === "user" ? "user" : "system",
		paths: [path],
		counted: [text ?? asCountedText(data.content ?? undefined)],
		mediaTokens: tokensOfMedia(media),
		calls: [],
		results: [],
		thinking: [],
	};
}

function blobOf(attachment: JsonObject) {
	return { data: stringAt(attachment, "data"), mediaType: stringAt(attachment, "mimeType") };
}

function readAssistant(data: JsonObject, path: Path): Message {
	const requests = requestsIn(data);
	const reasoning = stringAt(data, "reasoningText") ?? "";
	const counted = [asCountedText(data.content ?? undefined), reasoning, asCountedText(data.serverTools ?? undefined)];
	for (const { name, input } of requests) counted.push(name ?? "", asCountedText(input));
	return {
		role: "assistant",
		paths: [path],
		counted: counted.filter((text) => text !== ""),
		mediaTokens: 0,
		calls: requests.map(({ id, name }) => ({ id, name })),
		results: [],
		thinking: reasoning
			? [{ path: [...path, "data", "reasoningText"], text: reasoning, bound: false, fixed: true }]
			: [],
	};
}

function requestsIn(data: JsonObject) {
	const requests = Array.isArray(data.toolRequests) ? (data.toolRequests as unknown[]).filter(isJsonObject) : [];
	return requests.map((request) => ({
		id: idAt(request, "toolCallId"),
		name: stringAt(request, "name"),
		input: request.arguments,
		values: new Set(isJsonObject(request.arguments) ? Object.values(request.arguments) : []),
	}));
}

function join(first: Message, second: Message): Message {
	return {
		...first,
		paths: [...first.paths, ...second.paths],
		counted: [...first.counted, ...second.counted],
		calls: [...first.calls, ...second.calls],
		thinking: [...first.thinking, ...second.thinking],
	};
}
