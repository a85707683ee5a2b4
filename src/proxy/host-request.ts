import { setImmediate as othersGoOn } from "node:timers/promises";
import type { cacheTerms } from "../billing/terms.ts";
import { compactJson, isJsonObject } from "../conversation/json.ts";
import { decodeText } from "../files/access.ts";
import { writeGrown } from "../json-text/edit.ts";
import { hasMoreValues } from "../json-text/locate.ts";
import { readJsonText } from "../json-text/read.ts";
import { objectOf, stringAt } from "../json-text/value.ts";
import type { Policy } from "../policy/schema.ts";
import type { HostRequest } from "../sending/request.ts";
import { decodeBody } from "./body.ts";
import { withoutBodyChecksum } from "./body-checksum.ts";
import { recallOffered } from "./recall-hint.ts";
import type { Route } from "./routes.ts";

export const formatsOfApi = {
	anthropic: ["anthropic-messages"],
	openai: ["openai-chat", "openai-responses"],
	gemini: ["gemini"],
} as const;

/** `as_sent`: it holds no conversation that may be edited, or cannot be read. `thread`: it holds only new messages. */
type ReadRequest =
	| { readonly kind: "conversation"; readonly request: HostRequest<string> }
	| { readonly kind: "as_sent"; readonly problem: string | undefined }
	| { readonly kind: "thread" };

/** Decoded. A larger body passes through. */
export const mostEditedBytes = 64 * 1024 * 1024;

/** Other requests do not wait for all steps of reading a larger body: each takes some 3 ms a megabyte. */
const mostBytesInTurn = 4 * 1024 * 1024;

/** A window of a million tokens has some 3 000 messages, and each of these some six members and items. */
const mostValues = 100_000;

/** Reads the body of a request. `bytes` have the encoding that the request names. Throws for a body that is not JSON. */
export async function readRequest(
	bytes: Buffer,
	how: {
		readonly encoding: string | undefined;
		readonly route: Route;
		readonly policy: Policy;
		/** `undefined` if nothing is archived. */
		readonly recallCommand: string | undefined;
		readonly termsOf: (body: unknown) => ReturnType<typeof cacheTerms>;
		readonly isEnforced: boolean;
	},
): Promise<ReadRequest> {
	const { encoding, route, recallCommand, isEnforced } = how;
	const decoded = encoding === undefined ? bytes : await decodeBody(bytes, encoding, mostEditedBytes);
	if (!decoded) return { kind: "as_sent", problem: "its body has an encoding that is not known here" };
	const isLarge = decoded.length > mostBytesInTurn;
	if (isLarge) await othersGoOn();
	const text = decodeText(decoded, "the request");
	if (isLarge) await othersGoOn();
	if (hasMoreValues(text, mostValues))
		return { kind: "as_sent", problem: "it has more members and items than a conversation" };
	if (isLarge) await othersGoOn();
	const document = readJsonText(text, "the request");
	if (isLarge) await othersGoOn();
	const body = document.value;
	if (!holdsMessages(body)) return { kind: "as_sent", problem: undefined };
	if (isJsonObject(objectOf(body).thread)) return { kind: "thread" };
	const request: HostRequest<string> = {
		body,
		formats: formatsOfApi[route.api],
		terms: how.termsOf(body),
		model: route.model ?? stringAt(objectOf(body), "model"),
		recall: recallCommand === undefined ? undefined : recallOffered(body, recallCommand),
		decides: route.kind !== "counted",
		isEnforced,
		// The clouds refuse those that they do not serve, and each takes them in a form of its own.
		takesBetas: route.upstream === "anthropic",
		write: (edits, branch, added) => {
			branch.writtenText = writeGrown(document, edits, branch.writtenText);
			const written = withoutBodyChecksum(branch.writtenText.written, body);
			return added ? withMembers(written, added) : written;
		},
	};
	return { kind: "conversation", request };
}

/** Adds members at the start of the text of an object that has others. */
function withMembers(text: string, members: Readonly<Record<string, unknown>>): string {
	const start = text.indexOf("{") + 1;
	return `${text.slice(0, start)}${compactJson(members).slice(1, -1)},${text.slice(start)}`;
}

function holdsMessages(body: unknown): boolean {
	const { messages, contents, input } = objectOf(body);
	return [messages, contents, input].some(Array.isArray);
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
