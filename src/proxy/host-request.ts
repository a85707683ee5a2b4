import { setImmediate as othersGoOn } from "node:timers/promises";
import { compactJson, isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { writeGrown } from "../formats/json-text/edit.ts";
import { hasMoreValues } from "../formats/json-text/locate.ts";
import { readJsonText, type TextDocument } from "../formats/json-text/read.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";
import type { Hold } from "../operations/http/body.ts";
import { decodeText } from "../storage/files/access.ts";
import type { cacheTerms } from "./billing/terms.ts";
import { type Decoded, decodeInTurn } from "./body.ts";
import { withoutBodyChecksum } from "./body-checksum.ts";
import { offersTools, recallWays } from "./recall-hint.ts";
import type { Route } from "./routes.ts";
import { asksForSummary } from "./sending/clearing.ts";
import type { HostRequest, WrittenEdit } from "./sending/request.ts";

export const formatsOfApi = {
	anthropic: ["anthropic-messages"],
	openai: ["openai-chat", "openai-responses"],
	gemini: ["gemini"],
} as const;

/** The formats of a request: Bedrock takes Converse beside the APIs of its models. */
function formatsOf({ api, upstream }: Route): readonly string[] {
	return upstream === "bedrock" ? [...formatsOfApi[api], "bedrock-converse"] : formatsOfApi[api];
}

/**
 * `as_sent`: it holds no conversation that may be edited, or cannot be read. `thread`: it holds only new messages. `batch`:
 * `write` gives the text with the edits of each of its requests, in their order.
 * `large`: it is too large once decoded. `no_room`: the others that are held leave no memory for it.
 */
type ReadRequest =
	| { readonly kind: "conversation"; readonly request: HostRequest<string> }
	| {
			readonly kind: "batch";
			readonly requests: readonly HostRequest<readonly WrittenEdit[]>[];
			readonly write: (edits: readonly (readonly WrittenEdit[] | undefined)[]) => string | undefined;
	  }
	| { readonly kind: "as_sent"; readonly problem: string | undefined }
	| { readonly kind: "thread" | "large" | "no_room" };

/** A larger body passes through. */
export const mostEditedBytes = 64 * 1024 * 1024;

/**
 * The same for what an encoded body becomes, if that is past all measure of its bytes: conversations shrink to a third or a
 * twentieth. Anthropic's API takes no larger requests.
 */
const mostDecodedBytes = 32 * 1024 * 1024;
const mostTimesEncoded = 40;

/** The bytes of a body, its text and the values in it. */
const copiesOfDecoded = 3;

/** Other requests do not wait for all steps of reading a larger body: each takes some 3 ms a megabyte. */
const mostBytesInTurn = 1024 * 1024;

/** A window of a million tokens has some 3 000 messages, and each of these some six members and items. */
const mostValues = 100_000;

interface ReadHow {
	readonly encoding: string | undefined;
	readonly route: Route;
	readonly policy: Policy;
	/** `undefined` if nothing is archived. Without a command no shell reads an original. */
	readonly recall: { readonly command: string | undefined } | undefined;
	/** The identity of the caller. */
	readonly owner?: string | undefined;
	readonly isProved?: boolean | undefined;
	readonly termsOf: (body: unknown) => ReturnType<typeof cacheTerms>;
	readonly isEnforced: boolean | Promise<boolean>;
	readonly membersFor?: (conversation: string, body: JsonObject) => JsonObject | undefined;
	/** Counts more memory for this request. */
	readonly hold: Hold;
}

/** Reads the body of a request. `bytes` have the encoding that the request names. Throws for a body that is not JSON. */
export async function readRequest(bytes: Buffer, how: ReadHow): Promise<ReadRequest> {
	const { encoding, route, owner, isEnforced, hold } = how;
	const decoded = encoding === undefined ? bytes : await decodeHeld(bytes, encoding, hold);
	if (decoded === "unknown") return { kind: "as_sent", problem: "its body has an encoding that is not known here" };
	if (decoded === "too_large") return { kind: "large" };
	if (decoded === "no_room") return { kind: "no_room" };
	const isLarge = decoded.length > mostBytesInTurn;
	if (isLarge) await othersGoOn();
	const text = decodeText(decoded, "the request");
	if (isLarge) await othersGoOn();
	if (hasMoreValues(text, mostValues))
		return { kind: "as_sent", problem: "it has more members and items than a conversation" };
	if (isLarge) await othersGoOn();
	const outer = readJsonText(text, "the request");
	if (isLarge) await othersGoOn();
	if (route.kind === "batch") return readBatch(outer, how);
	const encoded = stringAt(objectOf(objectOf(objectOf(outer.value).input).invokeModel), "body");
	const document =
		encoded === undefined
			? outer
			: readJsonText(decodeText(Buffer.from(encoded, "base64"), "the request"), "the request");
	const body = document.value;
	const inner = withoutWrapper(body);
	if (!holdsMessages(inner)) return { kind: "as_sent", problem: undefined };
	if (isJsonObject(objectOf(body).thread)) return { kind: "thread" };
	const ways = how.recall && recallWays(inner, how.recall.command);
	const recall = ways?.[0] === undefined ? undefined : { by: ways[0] };
	const request: HostRequest<string> = {
		body,
		owner,
		isProved: how.isProved,
		formats: formatsOf(route),
		terms: how.termsOf(body),
		model: route.model ?? stringAt(objectOf(body), "model"),
		recall,
		recallWays: ways,
		isDeadEnd: how.recall !== undefined && recall === undefined && offersTools(inner),
		continues: continuesAnother(inner),
		decides: route.kind !== "counted" && !asksForSummary(body),
		isEnforced: await isEnforced,
		membersFor: (conversation) => how.membersFor?.(conversation, objectOf(body)),
		// The clouds refuse those that they do not serve, and each takes them in a form of its own.
		takesBetas: route.upstream === "anthropic",
		write: (edits, branch, added) => {
			branch.writtenText = writeGrown(document, edits, branch.writtenText);
			const written = withoutBodyChecksum(branch.writtenText.written, body);
			if (encoded === undefined) return added ? withMembers(written, added) : written;
			const path = ["input", "invokeModel", "body"];
			const replacement = Buffer.from(written).toString("base64");
			return writeGrown(outer, [{ kind: "replace", path, replacement }], undefined).written;
		},
	};
	return { kind: "conversation", request };
}

/** What waits for memory holds its encoded bytes alone, and is decoded again. */
async function decodeHeld(bytes: Buffer, encoding: string, hold: Hold): Promise<Decoded | "no_room"> {
	const most = Math.min(Math.max(mostDecodedBytes, mostTimesEncoded * bytes.length), mostEditedBytes);
	const decode = () => decodeInTurn(bytes, encoding, most);
	const decoded = await decode();
	if (typeof decoded === "string") return decoded;
	const needed = copiesOfDecoded * decoded.length;
	if (hold.take(needed)) return decoded;
	return (await hold.takeInTurn(needed)) ? decode() : "no_room";
}

/** Reads the requests of a batch of Anthropic's API or Gemini's. */
function readBatch(
	document: TextDocument,
	{ route, owner, termsOf }: Pick<ReadHow, "route" | "owner" | "termsOf">,
): ReadRequest {
	const { requests, batch } = objectOf(document.value);
	const config = objectOf(objectOf(batch).input_config ?? objectOf(batch).inputConfig);
	const key = Object.hasOwn(objectOf(batch), "input_config") ? "input_config" : "inputConfig";
	const [base, list, inner] = Array.isArray(requests)
		? [["requests"], requests, "params"]
		: [["batch", key, "requests", "requests"], listOf(objectOf(config.requests).requests), "request"];
	const places = list.flatMap((one, index) => {
		const body = objectOf(one)[inner];
		return holdsMessages(body) ? [{ body, path: [...base, index, inner] }] : [];
	});
	if (places.length === 0) return { kind: "as_sent", problem: undefined };
	return {
		kind: "batch",
		requests: places.map(({ body }) => ({
			body,
			owner,
			formats: formatsOf(route),
			terms: termsOf(body),
			model: route.model ?? stringAt(objectOf(body), "model"),
			recall: undefined,
			decides: false,
			isEnforced: false,
			write: (edits) => edits,
		})),
		write(edits) {
			const all = edits.flatMap((own = [], index) => {
				return own.map((edit) => ({ ...edit, path: [...(places[index]?.path ?? []), ...edit.path] }));
			});
			return all.length === 0 ? undefined : writeGrown(document, all, undefined).written;
		},
	};
}

/** Adds members at the start of the text of an object that has others. */
function withMembers(text: string, members: Readonly<Record<string, unknown>>): string {
	const start = text.indexOf("{") + 1;
	return `${text.slice(0, start)}${compactJson(members).slice(1, -1)},${text.slice(start)}`;
}

/**
 * With a Google sign-in, Gemini's request is in `request`, beside the model and the project. Requests that count tokens hold
 * one in `generateContentRequest`, or Bedrock's in `input.converse`.
 */
function withoutWrapper(body: unknown): unknown {
	const { request, generateContentRequest, input } = objectOf(body);
	const { converse } = objectOf(input);
	return [request, generateContentRequest, converse].find(holdsMessages) ?? body;
}

function holdsMessages(body: unknown): boolean {
	const { messages, contents, input } = objectOf(body);
	return [messages, contents, input].some(Array.isArray);
}

/** "Conversation state" (developers.openai.com): the provider holds the history, and only new items come. */
function continuesAnother(body: unknown): boolean {
	const { previous_response_id: previous, conversation } = objectOf(body);
	return typeof previous === "string" || typeof conversation === "string" || isJsonObject(conversation);
}

/** The answer of Anthropic's API to a thread that it does not serve: the host then sends the whole turn. */
export const threadRefusal = {
	type: "error",
	error: {
		type: "invalid_request_error",
		message: "thread: This proxy does not keep threads. Send the whole conversation.",
		details: { error_code: "thread_unsupported_request" },
	},
	details: { error_code: "thread_unsupported_request" },
};

/** Adds a beta feature of Anthropic's API to the headers of a request. */
export function withBeta(rawHeaders: readonly string[], beta: string): string[] {
	const headers = [...rawHeaders];
	for (let at = 0; at + 1 < headers.length; at += 2) {
		if (headers[at]?.toLowerCase() !== "anthropic-beta") continue;
		const names = (headers[at + 1] as string).split(",").map((name) => name.trim());
		if (!names.includes(beta)) headers[at + 1] = `${headers[at + 1]},${beta}`;
		return headers;
	}
	return [...headers, "anthropic-beta", beta];
}
