import { pathToFileURL } from "node:url";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { compactJson } from "../engine/stringify.ts";
import { PalimpsestError, SummariserError } from "../errors.ts";
import type { Spill } from "../files/spill.ts";
import type { Policy } from "../policy/schema.ts";
import { type AnswerMember, bytesOfMembers, jsonOfMembers, membersOf } from "./answer-members.ts";
import { summariseAnswer } from "./summarise-answer.ts";
import { type Answer, beside } from "./tool.ts";
import { rememberWrittenJson } from "./written-json.ts";

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
