import { pathToFileURL } from "node:url";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { compactJson } from "../engine/compact-json.ts";
import { PalimpsestError } from "../errors.ts";
import type { Spill } from "../files/spill.ts";

/**
 * Largest answer in bytes. Clients built on the SDK end the connection past 10 MiB in one message, so a larger answer
 * would cost the caller more than an error does.
 */
export const largestAnswer = 8_000_000;

/**
 * A tool's answer: structured content, and text that says the same, since some hosts show their model only one of them.
 * Where it would not reach the client, its largest part goes into a file, and the answer links to it.
 *
 * @throws PalimpsestError `payload_too_large` where there is nowhere to put it.
 */
export async function toolResult(answer: Record<string, unknown>, spill: Spill | undefined): Promise<CallToolResult> {
	const text = sendableJson(answer);
	if (text === undefined) {
		if (spill) return linkToFile(answer, spill);
		throw new PalimpsestError(
			"payload_too_large",
			'The answer is nested too deep to be sent. Call again with respond_with "edits" or "report".',
		);
	}
	// The text travels as a string in JSON: once more with its quotes escaped.
	const bytes = Buffer.byteLength(text) + Buffer.byteLength(JSON.stringify(text));
	if (bytes <= largestAnswer) return { content: [{ type: "text", text }], structuredContent: answer };
	if (!spill) {
		throw new PalimpsestError(
			"payload_too_large",
			`The answer would take ${bytes} bytes, over the ${largestAnswer} that clients accept in one message. Call again with respond_with "edits" or "report".`,
		);
	}
	return linkToFile(answer, spill);
}

/** Levels of nesting that the message around an answer may add. */
const levelsAround = 64;

/** An answer as JSON; `undefined` where it is nested too deep for `JSON.stringify`, with which the SDK sends it. */
function sendableJson(answer: Record<string, unknown>): string | undefined {
	let wrapped: unknown = answer;
	for (let level = 0; level < levelsAround; level += 1) wrapped = [wrapped];
	try {
		return JSON.stringify(wrapped).slice(levelsAround, -levelsAround);
	} catch (error) {
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

async function linkToFile(answer: Record<string, unknown>, spill: Spill): Promise<CallToolResult> {
	const parts = Object.entries(answer).map(([name, value]) => ({ name, json: compactJson(value) }));
	const { name, json } = parts.reduce((largest, part) => (part.json.length > largest.json.length ? part : largest));
	const uri = pathToFileURL(await spill(name, json)).href;
	const { [name]: _, ...rest } = answer;
	const structuredContent = { ...rest, [`${name}_uri`]: uri };
	return {
		content: [
			{ type: "text", text: JSON.stringify(structuredContent) },
			{ type: "resource_link", uri, name, mimeType: "application/json", size: Buffer.byteLength(json) },
		],
		structuredContent,
	};
}

/** An error as a tool's answer: code and message, for models that see only the text. Defects are not described. */
export function toolError(error: unknown): CallToolResult {
	const known =
		error instanceof PalimpsestError
			? error
			: new PalimpsestError("internal", "The call failed by a defect of the server.");
	return { isError: true, content: [{ type: "text", text: `[${known.code}] ${known.message}` }] };
}
