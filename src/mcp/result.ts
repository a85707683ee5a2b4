import { pathToFileURL } from "node:url";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { PalimpsestError } from "../errors.ts";
import type { Spill } from "../files/spill.ts";

/**
 * Largest answer in bytes. Clients built on the SDK end the connection past 10 MiB in one message, so a larger answer
 * would cost the caller more than an error does.
 */
export const largestAnswer = 8_000_000;

/**
 * A tool's answer: structured content, and text that says the same, since some hosts show their model only one of them.
 * What would not reach the client goes into a file, and the answer links to it.
 *
 * @throws PalimpsestError `payload_too_large` where there is nowhere to put it.
 */
export async function toolResult(answer: Record<string, unknown>, spill: Spill | undefined): Promise<CallToolResult> {
	const text = JSON.stringify(answer);
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

async function linkToFile(answer: Record<string, unknown>, spill: Spill): Promise<CallToolResult> {
	const { report, ...large } = answer;
	const [name = "answer"] = Object.keys(large);
	const json = JSON.stringify(large[name]);
	const uri = pathToFileURL(await spill(name, json)).href;
	const structuredContent = { report, [`${name}_uri`]: uri };
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
