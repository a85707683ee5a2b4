import { pathToFileURL } from "node:url";
import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { compactJson } from "../conversation/json.ts";
import { PalimpsestError, SummariserError } from "../errors.ts";
import type { Spill } from "../files/access.ts";
import type { CallerRequest, CompactReport } from "../operations/compaction-request.ts";
import type { Policy } from "../policy/schema.ts";
import { type Answer, beside } from "./tool.ts";

/**
 * A result that goes through the SDK in the place of a message that is written already, as JSON in UTF-8 without a line
 * break. Only our own transports may get it.
 */
export function rawResult(message: Uint8Array): CallToolResult {
	return { content: [], raw: message };
}

/** The bytes of a message that is written already; `undefined` for any other. */
export function rawMessage(message: JSONRPCMessage): Uint8Array | undefined {
	if (!("result" in message)) return undefined;
	// What a client sends is parsed from JSON, in which there are no bytes.
	return message.result.raw instanceof Uint8Array ? message.result.raw : undefined;
}

/**
 * Largest answer in bytes. Clients built on the SDK end the connection past 10 MiB in one message, so a larger answer
 * would cost the caller more than an error does.
 */
export const largestAnswer = 8_000_000;

/**
 * Largest structured content, in bytes of its JSON, that the text block repeats; a larger one is summarised. At 10 MB
 * the second copy made a call take three times as long.
 */
export const largestRepeated = 256_000;

/** Structured content of more bytes is not written a second time when it is sent. */
const worthKeeping = 16_000;

/** A tool's answer and how it is told. */
export interface ToolAnswer {
	readonly answer: Answer;
	/** Takes what is too large to send; absent where the client shares no files with this process. */
	readonly spill: Spill | undefined;
	/** The policy's `text`; asked only for an answer that `auto` would summarise. */
	readonly text: () => Policy["text"];
}

type Link = Extract<CallToolResult["content"][number], { type: "resource_link" }>;

/**
 * A tool's answer: structured content, and text that says the same, since some hosts show their model only one of them.
 * What would not reach the client goes into files, largest part first, and the answer links to them.
 *
 * @throws PalimpsestError `payload_too_large` where there is nowhere to put it.
 */
export async function toolResult({ answer, spill, text: policyText }: ToolAnswer): Promise<CallToolResult> {
	const { text: ownText, blocks = [] } = answer[beside] ?? {};
	const bytesBeside = blocks.length === 0 ? 0 : Buffer.byteLength(JSON.stringify(blocks));
	let members = membersOf(answer);
	let links: readonly Link[] = [];
	for (;;) {
		const bytes = bytesOfMembers(members);
		const isRepeated = bytes <= largestRepeated || policyText() === "full";
		// Words of its own speak of all members, of which one may have gone into a file.
		const words = links.length === 0 ? ownText : undefined;
		const text = isRepeated ? (words ?? jsonOfMembers(members)) : undefined;
		// The text travels as a string in JSON: once more with its quotes escaped, which at most doubles it.
		const escaped = text === undefined || 3 * bytes <= largestAnswer ? 0 : Buffer.byteLength(JSON.stringify(text));
		if (bytes + escaped + bytesBeside <= largestAnswer) {
			if (bytes > worthKeeping) for (const { value, json } of members) rememberWrittenJson(value, json ?? "");
			const summary = text ?? summariseAnswer({ members, bytes });
			const structuredContent = Object.fromEntries(members.map(({ name, value }) => [name, value]));
			return { content: [{ type: "text", text: summary }, ...links, ...blocks], structuredContent };
		}
		if (!spill) throw unsendable(bytes + escaped + bytesBeside);
		const largest = members.reduce((most, member) => (member.bytes > most.bytes ? member : most));
		const link = await linkTo(largest, spill);
		links = [...links, link];
		const uri = membersOf({ [`${largest.name}_uri`]: link.uri });
		members = [...members.filter((member) => member !== largest), ...uri];
	}
}

async function linkTo({ name, value, json }: AnswerMember, spill: Spill): Promise<Link> {
	const text = json ?? compactJson(value);
	const uri = pathToFileURL(await spill(name, text)).href;
	return { type: "resource_link", uri, name, mimeType: "application/json", size: Buffer.byteLength(text) };
}

function unsendable(bytes: number): PalimpsestError {
	const why = Number.isFinite(bytes)
		? `The answer would take ${bytes} bytes, over the ${largestAnswer} that clients accept in one message.`
		: "The answer is nested too deep to be sent.";
	return new PalimpsestError("payload_too_large", `${why} Call again with respond_with "edits" or "report".`);
}

/** An error as a tool's answer: code and message, for models that see only the text. Defects are not described. */
export function toolError(error: unknown): CallToolResult {
	const known =
		error instanceof PalimpsestError
			? error
			: new PalimpsestError("internal", "The call failed by a defect of the server.");
	const facts =
		known instanceof SummariserError
			? ` (status_code=${known.status_code ?? "none"}, is_retryable=${known.is_retryable})`
			: "";
	return { isError: true, content: [{ type: "text", text: `[${known.code}] ${known.message}${facts}` }] };
}

/** Largest member, in bytes of its JSON, that a summary still shows. */
const largestShown = 16_000;

/**
 * What a text block says in place of an answer that is too large to be repeated: how much there is and where, what
 * happened to the conversation, and then, as JSON, the members that are short, such as the report.
 */
export function summariseAnswer(what: { readonly members: readonly AnswerMember[]; readonly bytes: number }): string {
	const { members, bytes } = what;
	const isLarge = (member: AnswerMember) => member.bytes > largestShown;
	const large = members.filter(isLarge).map((member) => `\`${member.name}\` (${sizeOf(member)})`);
	return [
		`This answer is ${bytes} bytes of JSON, too large to repeat here. All of it is in this answer's structuredContent, of which this text leaves out ${large.join(", ")}.`,
		...whatHappened(members),
		jsonOfMembers(members.filter((member) => !isLarge(member))),
	].join("\n");
}

function sizeOf({ value, bytes }: AnswerMember): string {
	return Array.isArray(value) ? `${value.length} items, ${bytes} bytes` : `${bytes} bytes`;
}

/** The numbers that matter most, in words: a long report would be left out. */
function whatHappened(members: readonly AnswerMember[]): string[] {
	const report = recordOf(members.find(({ name }) => name === "report")?.value);
	const sizes = ["messages", "tokens", "chars"].flatMap((unit) => {
		const { before, after } = recordOf(report[unit]);
		return typeof before === "number" && typeof after === "number" ? [`${unit} ${before} → ${after}`] : [];
	});
	const fits = typeof report.fits === "boolean" ? [report.fits ? "it fits" : "it does not fit"] : [];
	const words = [...sizes, ...fits].join(", ");
	return words === "" ? [] : [`The conversation: ${words}.`];
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** One member of a tool's answer with its JSON. */
export interface AnswerMember {
	readonly name: string;
	readonly value: unknown;
	/** `undefined` where it is nested too deep for `JSON.stringify`, with which the SDK sends it. */
	readonly json: string | undefined;
	/** Bytes that it takes in the answer's JSON, a comma or brace included; infinite where it cannot be sent. */
	readonly bytes: number;
}

/** The members of an answer, each written as JSON once for all that is asked about it later. */
export function membersOf(answer: Readonly<Record<string, unknown>>): readonly AnswerMember[] {
	return Object.entries(answer)
		.filter(([, value]) => value !== undefined)
		.map(([name, value]) => {
			const json = sendableJson(value);
			const bytes = Buffer.byteLength(JSON.stringify(name)) + 1 + Buffer.byteLength(json ?? "") + 1;
			return { name, value, json, bytes: json === undefined ? Number.POSITIVE_INFINITY : bytes };
		});
}

/** Bytes of the JSON of the object that members make. */
export function bytesOfMembers(members: readonly AnswerMember[]): number {
	return members.reduce((sum, { bytes }) => sum + bytes, 1);
}

/** Members that can be sent, as the JSON of the object that they make. */
export function jsonOfMembers(members: readonly AnswerMember[]): string {
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

/** What stands for the summary in the call that is spelled out. */
export const summaryPlaceholder = "<your summary>";

/** What stands there for the messages of this call. */
export const sameMessages = "<the same messages>";

/** The exact call of `compact_conversation` that puts in the summary. `arguments` are those that it repeats. */
export function callWithSummary({ summary_token }: CallerRequest, repeated: Readonly<Record<string, unknown>>) {
	return { tool: "compact_conversation", arguments: { ...repeated, summary_token, summary: summaryPlaceholder } };
}

/**
 * Asks the caller for a summary: what is to be written, and the exact next call. `arguments` are those of this call that
 * the next one repeats.
 */
export function summaryRequestAnswer(what: {
	readonly request: CallerRequest;
	readonly report: CompactReport;
	readonly arguments: Readonly<Record<string, unknown>>;
}): Answer {
	const { request, report } = what;
	const { first, last, count, tokens } = request.messages;
	const next = callWithSummary(request, what.arguments);
	const text = [
		`Nothing was changed yet: a summary is wanted, for which nobody else can be asked here. It will stand for ${count} messages (${first} to ${last}, ${tokens} tokens).`,
		"Write it yourself, as the prompt below says, and then call:",
		`${next.tool} ${JSON.stringify(next.arguments)}`,
		"",
		request.prompt,
	].join("\n");
	return { summary_request: { ...request, next_call: next }, report, [beside]: { text } };
}

const written = new WeakMap<object, string>();

/** Remembers the JSON of a large value that is written again when its answer is sent. The value must not change. */
export function rememberWrittenJson(value: unknown, json: string): void {
	if (typeof value === "object" && value !== null) written.set(value, json);
}

/** A message as a line of JSON in UTF-8. */
export function messageLine(message: JSONRPCMessage): Buffer {
	return bytesOfTexts([...messageParts(message), "\n"]);
}

/**
 * The JSON of a message in parts to be written one after the other. Reuses the remembered JSON of large values in a tool's
 * answer instead of writing it a second time.
 */
export function messageParts(message: JSONRPCMessage): readonly string[] {
	return reuseWritten(message) ?? [JSON.stringify(message)];
}

/** Writes texts as UTF-8 one after the other, without joining the texts first. */
export function bytesOfTexts(texts: readonly string[]): Buffer {
	const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
	let at = 0;
	for (const text of texts) at += bytes.write(text, at);
	return bytes;
}

function reuseWritten(message: JSONRPCMessage): readonly string[] | undefined {
	if (!("result" in message)) return undefined;
	const { result, ...envelope } = message;
	const { structuredContent, ...rest } = result;
	if (typeof structuredContent !== "object" || structuredContent === null) return undefined;
	const members = Object.entries(structuredContent).map(([name, value]) => ({ name, json: takeWritten(value), value }));
	if (members.every(({ json }) => json === undefined)) return undefined;
	const parts = members
		.map(({ name, json, value }) => ({ name, json: json ?? JSON.stringify(value) }))
		.filter(({ json }) => json !== undefined)
		.flatMap(({ name, json }, index) => [`${index === 0 ? "" : ","}${JSON.stringify(name)}:`, json]);
	return [
		...openMember(envelope, "result"),
		...openMember(rest, "structuredContent"),
		"{",
		...parts,
		// Closes the structured content, the result and the message.
		"}}}",
	];
}

/** Returns the JSON that was remembered for a value, and forgets it. */
function takeWritten(value: unknown): string | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	const json = written.get(value);
	written.delete(value);
	return json;
}

/** The JSON of an object with one more member, up to where the value of that member begins. */
function openMember(object: object, name: string): readonly string[] {
	const rest = JSON.stringify(object).slice(0, -1);
	return [rest, `${rest === "{" ? "" : ","}"${name}":`];
}
