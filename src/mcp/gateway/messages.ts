import { isUtf8 } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import { focusOfCall } from "../../engine/truncation/focus.ts";
import type { TextDocument } from "../../formats/json-text/read.ts";
import { namesRevision } from "../body.ts";

export type RequestId = string | number;

export type Message =
	| {
			readonly kind: "request";
			readonly id: RequestId;
			readonly method: string;
			readonly params: JsonObject;
			/** Whether it is of revision 2026-07-28 or later. */
			readonly isNewer: boolean;
	  }
	| { readonly kind: "notification"; readonly method: string; readonly params: JsonObject }
	/** `result` is absent in an error; `id` where it is none that a request can have. */
	| { readonly kind: "response"; readonly id: RequestId | undefined; readonly result?: JsonObject }
	| { readonly kind: "other" };

/** A line with its messages: one, or those of a batch (revision 2025-03-26). */
export interface ReadLine {
	readonly document: TextDocument;
	readonly messages: readonly { readonly path: Path; readonly message: Message }[];
}

/** `undefined` for a line that is not JSON in UTF-8, which only the receiver can judge. */
export function readLine(line: Buffer): ReadLine | undefined {
	if (!isUtf8(line)) return undefined;
	const text = line.toString();
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	const document: TextDocument = { text, kind: "json", value, roots: [{ start: 0, end: text.length }] };
	const messages = Array.isArray(value)
		? value.map((one, index) => ({ path: [index], message: readMessage(one) }))
		: [{ path: [], message: readMessage(value) }];
	return { document, messages };
}

function readMessage(value: unknown): Message {
	if (!isJsonObject(value)) return { kind: "other" };
	const { id, method, params, result, error } = value;
	const given = isJsonObject(params) ? params : {};
	const isAnswerable = typeof id === "string" || typeof id === "number";
	// With a result as well, some hosts take it for an answer.
	if (typeof method === "string" && !(id !== undefined && isJsonObject(result))) {
		if (!isAnswerable) return { kind: "notification", method, params: given };
		return { kind: "request", id, method, params: given, isNewer: namesRevision(value) };
	}
	// JSON-RPC 2.0, section 5: the error for a message that cannot be read has no id.
	const isOfNone = result === undefined && (error === undefined || (id ?? null) === null);
	if (isOfNone) return { kind: "other" };
	const ofRequest = isAnswerable ? id : undefined;
	return { kind: "response", id: ofRequest, ...(isJsonObject(result) && error === undefined && { result }) };
}

/** What the answer to a request will hold, as far as the gateway looks at it. */
export type Asked =
	| { readonly kind: "call"; readonly tool: string; readonly focus: string }
	| { readonly kind: "resource"; readonly uri: string }
	| { readonly kind: "tool_list"; readonly isFirstPage: boolean }
	/** A call that runs as a task; `inState`: its result is a member of the task's state (revision 2026-07-28). */
	| { readonly kind: "task"; readonly taskId: string; readonly inState: boolean }
	| { readonly kind: "other" };

export function askedBy({ method, params }: Pick<Message & { kind: "request" }, "method" | "params">): Asked {
	switch (method) {
		case "tools/call":
			return { kind: "call", tool: String(params.name), focus: focusOfCall({ input: params.arguments }) };
		case "resources/read":
			return { kind: "resource", uri: String(params.uri) };
		case "tools/list":
			return { kind: "tool_list", isFirstPage: params.cursor === undefined };
		case "tasks/result":
		case "tasks/get":
		case "tasks/cancel":
			return { kind: "task", taskId: String(params.taskId), inState: method !== "tasks/result" };
		default:
			return { kind: "other" };
	}
}
