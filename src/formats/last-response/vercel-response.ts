import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { finishResponse, type GivenCall } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { hasMember, memberAt, objectsOf, textsOf } from "./response-members.ts";

/**
 * The result or a step of the Vercel AI SDK, or what its models give (`finishReason` with `unified`). It parses what
 * its providers give, some of which make an object of a cut input; so a call that ends a cut answer is taken to be cut.
 */
export const vercelResponse: ResponseReader = {
	shape: "{finishReason, text, toolCalls} of the Vercel AI SDK",
	read(response) {
		// A result as JSON keeps its steps only.
		const last = hasMember(response, "finishReason") ? undefined : objectsOf(response.steps).at(-1);
		const step = last ?? response;
		const { content } = step;
		const listed = readToolCalls(step.toolCalls);
		const text = stringAt(step, "text");
		if (!listed || (listed.length === 0 && text === undefined && !isContent(content))) return undefined;
		if (!hasMember(step, "finishReason") && !hasMember(step, "toolCalls")) return undefined;
		// Only the content tells what came behind a call.
		const placed = isContent(content) ? readContent(content) : [];
		const { finishReason: reason } = step;
		return finishResponse({
			reason: isJsonObject(reason) ? reason.unified : reason,
			texts: text === undefined ? textsOf(content) : [text],
			calls: placed.length > 0 ? placed : listed,
		});
	},
};

/** Part types of an answer; others, of other APIs, are not of this one. */
const partTypes: ReadonlySet<unknown> = new Set([
	"text",
	"reasoning",
	"reasoning-file",
	"source",
	"file",
	"custom",
	"tool-call",
	"tool-result",
	"tool-error",
	"tool-approval-request",
]);

/** What the SDK itself puts behind the parts of an answer. */
const addedTypes: ReadonlySet<unknown> = new Set(["tool-result", "tool-error", "tool-approval-request"]);

function isContent(content: unknown): content is readonly JsonObject[] {
	return Array.isArray(content) && content.every((part) => isJsonObject(part) && partTypes.has(part.type));
}

function readContent(content: readonly JsonObject[]): GivenCall[] {
	const given = content.filter((part) => !addedTypes.has(part.type));
	// A call that ran was taken to be whole.
	const ran = new Set(content.flatMap((part) => (part.type === "tool-result" ? idAt(part, "toolCallId") : [])));
	return given.flatMap((part, index) => {
		if (part.type !== "tool-call") return [];
		return readCall(part, index === given.length - 1 && !ran.has(idAt(part, "toolCallId")));
	});
}

function readToolCalls(list: unknown): GivenCall[] | undefined {
	const calls = objectsOf(list);
	if (!calls.every((call) => hasMember(call, "toolName"))) return undefined;
	return calls.flatMap((call, index) => readCall(call, index === calls.length - 1));
}

function readCall(call: JsonObject, endsAnswer: boolean): GivenCall[] {
	if (call.providerExecuted === true) return [];
	const value = memberAt(call, "input", "args");
	const id = idAt(call, "toolCallId");
	const input = call.invalid === true ? ({ kind: "broken" } as const) : ({ kind: "parsed_partly", value } as const);
	return [{ id, name: idAt(call, "toolName"), input, endsAnswer }];
}
