import { randomUUID } from "node:crypto";
import { pathToFileURL } from "node:url";
import type { CallToolResult, ContentBlock, ResourceLink } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import { compactJson, isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { describeIssues } from "../engine/policy/errors.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError, SummariserError } from "../errors.ts";
import type { CallerRequest, CompactReport } from "../operations/compaction-request.ts";
import type { Spill } from "../storage/files/access.ts";

/** Key in an answer for content that accompanies the structured content. JSON omits symbols. */
export const beside = Symbol("beside");

/**
 * A tool's structured content. The text block repeats it as JSON unless `text` replaces it; `blocks` follow. Without an
 * output schema, the text is all that a model gets, and a program finds the other members in `_meta`.
 */
export type Answer = Readonly<Record<string, unknown>> & {
	readonly [beside]?: { readonly text?: string; readonly blocks?: readonly ContentBlock[] };
};

/** JSON-RPC's number for parameters that cannot be used. */
export const invalidParams = -32_602;

/** A request that is refused as a whole, not by a tool's answer. The server of each era sends it in its own form. */
export class RequestError extends Error {
	readonly code: number;

	constructor(code: number, message: string) {
		super(message);
		this.code = code;
	}
}

/** Largest answer in bytes. Clients built on the SDK close the connection at 10 MiB in one message. */
export const largestAnswer = 8_000_000;

/** The member of `_meta` with facts about a text, for programs. */
const factsMeta = "palimpsest/facts";

/** Larger JSON is only summarised in the text block. At 10 MB the second copy made a call take three times as long. */
const largestRepeated = 256_000;

/**
 * Structured content, repeated as text, since some hosts show their model only one. Parts that are too large to send
 * go into files, the largest first; without `spill`, for clients elsewhere, throws `payload_too_large`.
 */
export async function toolResult(given: {
	readonly answer: Answer;
	readonly spill: Spill | undefined;
	readonly text: () => Policy["text"];
	/** Whether there is structured content; otherwise the text is whole, and the other members are in `_meta`. */
	readonly isStructured?: boolean;
}): Promise<CallToolResult> {
	const { answer, spill, isStructured = true } = given;
	const { text: besideText, blocks = [] } = answer[beside] ?? {};
	const ownText = besideText ?? (!isStructured && typeof answer.text === "string" ? answer.text : undefined);
	const bytesBeside = blocks.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(blocks));
	let members = membersOf(answer);
	const links: ResourceLink[] = [];
	for (;;) {
		const bytes = members.reduce((sum, member) => sum + member.bytes, 1);
		const isRepeated = !isStructured || bytes <= largestRepeated || given.text() === "full";
		// The answer's own text describes all members; one of them may be in a file now.
		const text = isRepeated ? ((links.length === 0 ? ownText : undefined) ?? membersJson(members)) : undefined;
		// The text travels as a string in JSON; escaping at most doubles it.
		const escaped = text === undefined || 3 * bytes <= largestAnswer ? 0 : Buffer.byteLength(JSON.stringify(text));
		const total = bytes + escaped + bytesBeside;
		if (total <= largestAnswer) {
			for (const { value, json = "" } of bytes > largestShown ? members : []) {
				if (typeof value === "object" && value !== null) written.set(value, json);
			}
			const summary = text ?? summariseAnswer(members, bytes);
			const content = [{ type: "text" as const, text: summary }, ...links, ...blocks];
			const structuredContent = Object.fromEntries(members.map(({ name, value }) => [name, value]));
			if (isStructured) return { content, structuredContent };
			const { text: _shown, ...facts } = structuredContent;
			return { content, _meta: { [factsMeta]: facts } };
		}
		if (!spill) throw unsendable(total);
		const largest = members.reduce((most, member) => (member.bytes > most.bytes ? member : most));
		const { name, value, json = compactJson(value) } = largest;
		const uri = pathToFileURL(await spill(name, json)).href;
		links.push({ type: "resource_link", uri, name, mimeType: "application/json", size: Buffer.byteLength(json) });
		members = [...members.filter((member) => member !== largest), ...membersOf({ [`${name}_uri`]: uri })];
	}
}

function unsendable(bytes: number): PalimpsestError {
	const why = Number.isFinite(bytes)
		? `The answer would take ${bytes} bytes, over the ${largestAnswer} that clients accept in one message.`
		: "The answer is nested too deep to be sent.";
	return new PalimpsestError("payload_too_large", `${why} Call again with respond_with "edits" or "report".`);
}

/** A tool error: code and message as text. Defects are not described. */
export function toolError(error: unknown): CallToolResult {
	const defect = new PalimpsestError("internal", "The call failed because of a defect in the server.");
	const known = error instanceof PalimpsestError ? error : defect;
	const { status_code = "none", is_retryable = undefined } = known instanceof SummariserError ? known : {};
	const facts = is_retryable === undefined ? "" : ` (status_code=${status_code}, is_retryable=${is_retryable})`;
	return { isError: true, content: [{ type: "text", text: `[${known.code}] ${known.message}${facts}` }] };
}

/** Largest member that a summary still shows, in bytes of JSON; larger answers are also not written twice. */
const largestShown = 16_000;

/** For an answer that is too large to repeat: sizes, the changes of the conversation, and the short members. */
function summariseAnswer(members: readonly AnswerMember[], bytes: number): string {
	const large = members.filter((member) => member.bytes > largestShown);
	const names = large.map(({ name, value, bytes: size }) => {
		const items = Array.isArray(value) ? `${value.length} items, ` : "";
		return `\`${name}\` (${items}${size} bytes)`;
	});
	return [
		`This answer is ${bytes} bytes of JSON, too large to repeat here. Its structuredContent has all of it; this text leaves out ${names.join(", ")}.`,
		...whatHappened(members.find(({ name }) => name === "report")?.value),
		membersJson(members.filter((member) => !large.includes(member))),
	].join("\n");
}

function whatHappened(report: unknown): string[] {
	if (!isJsonObject(report)) return [];
	const words = ["messages", "tokens", "chars"].flatMap((unit) => {
		const { before, after } = isJsonObject(report[unit]) ? report[unit] : {};
		return typeof before === "number" && typeof after === "number" ? [`${unit} ${before} → ${after}`] : [];
	});
	if (typeof report.fits === "boolean") words.push(report.fits ? "it fits" : "it does not fit");
	return words.length === 0 ? [] : [`The conversation: ${words.join(", ")}.`];
}

type AnswerMember = ReturnType<typeof membersOf>[number];

/** `bytes`: with a comma or brace; infinite if the member cannot be sent. */
function membersOf(answer: JsonObject) {
	const given = Object.entries(answer).filter(([, value]) => value !== undefined);
	return given.map(([name, value]) => {
		const json = sendableJson(value);
		const bytes = Buffer.byteLength(JSON.stringify(name)) + 1 + Buffer.byteLength(json ?? "") + 1;
		return { name, value, json, bytes: json === undefined ? Number.POSITIVE_INFINITY : bytes };
	});
}

function membersJson(members: readonly AnswerMember[]): string {
	return `{${members.map(({ name, json }) => `${JSON.stringify(name)}:${json}`).join(",")}}`;
}

/** Levels of nesting that the message around an answer may add. */
const levelsAround = 64;

function sendableJson(value: unknown): string | undefined {
	let wrapped: unknown = value;
	for (let level = 0; level < levelsAround; level += 1) wrapped = [wrapped];
	try {
		return JSON.stringify(wrapped).slice(levelsAround, -levelsAround);
	} catch (error) {
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

export const summaryPlaceholder = "<your summary>";

/** The exact call of `compact_conversation` that brings the summary and repeats the arguments of the current call. */
export function callWithSummary({ summary_token }: CallerRequest, { messages, ...repeated }: JsonObject) {
	const conversation = messages === undefined ? {} : { messages: "<the same messages>" };
	const summary = summaryPlaceholder;
	return { tool: "compact_conversation", arguments: { ...conversation, ...repeated, summary_token, summary } };
}

export function summaryRequestAnswer(given: {
	readonly request: CallerRequest;
	readonly report: CompactReport;
	readonly input: JsonObject;
}): Answer {
	const { request, report } = given;
	const { first, last, count, tokens } = request.messages;
	const next = callWithSummary(request, given.input);
	const isProvider = request.provider_request !== undefined;
	const who = isProvider ? "the provider's" : "a";
	const text = [
		`Nothing was changed yet: ${who} summary is needed${isProvider ? "" : ", and no other model is available"}. It will replace ${count} messages (${first} to ${last}, ${tokens} tokens).`,
		isProvider
			? "Do as the last line says, and then call:"
			: "Write it yourself, as the prompt below says, and then call:",
		`${next.tool} ${JSON.stringify(next.arguments)}`,
		"",
		request.prompt,
	].join("\n");
	return { summary_request: { ...request, next_call: next }, report, [beside]: { text } };
}

const written = new WeakMap<object, string>();
const mark = randomUUID();

/** A message or a result as JSON in UTF-8, followed by `end`. Reuses the JSON of large values that `toolResult` wrote. */
export function messageBytes(message: object, end = ""): Buffer {
	const large: string[] = [];
	const text = JSON.stringify(message, (_key, value) => {
		const json = written.get(value);
		if (json === undefined) return value;
		large.push(json);
		return mark;
	});
	const texts = text.split(`"${mark}"`).flatMap((piece, index) => [piece, large[index] ?? end]);
	const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, one) => sum + Buffer.byteLength(one), 0));
	let at = 0;
	// Not joined: that would copy texts of megabytes.
	for (const one of texts) at += bytes.write(one, at);
	return bytes;
}

// ---- Refused requests ----

type Handle = (request: unknown, extra: unknown) => Promise<unknown>;

/**
 * The SDKs check requests before their handlers and answer with zod's issues; they are told in our words. `made` makes an
 * error of the SDK, also of ours. Call this once all handlers are set.
 */
export function describeRequestErrors(server: object, made: (code: number, message: string) => Error): void {
	// The SDKs have no public way to take part in their check.
	const { _requestHandlers: handlers } = server as { _requestHandlers: Map<string, Handle> };
	for (const [method, handle] of handlers) {
		// Async, since the check throws before the handler's promise is made.
		handlers.set(method, async (request, extra) => {
			try {
				return await handle(request, extra);
			} catch (error) {
				if (error instanceof RequestError) throw made(error.code, error.message);
				const issues = issuesOf(error);
				if (!issues) throw error;
				throw made(invalidParams, describeIssues(issues, { root: request }).join("; "));
			}
		});
	}
}

function issuesOf(error: unknown): readonly z.core.$ZodIssue[] | undefined {
	// Some of zod's errors are no `Error`.
	if (typeof error === "object" && error !== null && "issues" in error && Array.isArray(error.issues))
		return error.issues;
	if (!(error instanceof Error)) return undefined;
	// The SDKs turn some issues into a text before anybody else can see them.
	const [, json] =
		/^(?:(?:MCP error -\d+: )?Invalid tools\/call request: )?(\[\s*\{[\s\S]*\])$/.exec(error.message) ?? [];
	try {
		return json === undefined ? undefined : JSON.parse(json);
	} catch {
		return undefined;
	}
}
