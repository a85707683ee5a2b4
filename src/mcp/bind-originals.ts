import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import type { OriginalKind } from "../archive/archive.ts";
import type { ArchiveSource } from "../config/create-archive-source.ts";
import { PalimpsestError } from "../errors.ts";
import { originalUri } from "./original-link.ts";
import { largestAnswer } from "./result.ts";

/** https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling */
const resourceNotFound = -32_002;

/**
 * Offers each archived original as the resource `original://{ref}`, whole. They are not listed, since there may be a
 * hundred thousand: the masking tools' answers link to them.
 */
export function bindOriginals(server: McpServer, source: ArchiveSource): void {
	server.registerResource(
		"original",
		new ResourceTemplate(`${originalUri}{ref}`, { list: undefined }),
		{ title: "Original", description: "What a placeholder stands for, whole." },
		async (uri, { ref }) => {
			try {
				const { text, kind } = await wholeOriginal(source, String(ref));
				const mimeType = kind === "group" || kind === "media" ? "application/json" : "text/plain";
				return { contents: [{ uri: uri.href, mimeType, text }] };
			} catch (error) {
				if (!(error instanceof PalimpsestError)) throw error;
				const code = error.code === "original_not_found" ? resourceNotFound : ErrorCode.InvalidParams;
				throw new McpError(code, `[${error.code}] ${error.message}`);
			}
		},
	);
}

function wholeOriginal(source: ArchiveSource, ref: string): Promise<{ text: string; kind: OriginalKind }> {
	return source.use(async (archive) => {
		const { listing, value: text } = await archive.read(ref, async (pieces) => {
			let text = "";
			for await (const piece of pieces) {
				text += piece;
				// What cannot be sent need not be held.
				if (text.length > largestAnswer) break;
			}
			return text;
		});
		const { kind, chars } = listing;
		// These belong to restoring and are no original of anything.
		if (kind === "places") throw new PalimpsestError("original_not_found", "No original is kept under this reference.");
		if (chars > largestAnswer || Buffer.byteLength(JSON.stringify(text)) > largestAnswer - 1_000) {
			throw new PalimpsestError(
				"payload_too_large",
				`The original has ${chars} characters, more than clients accept in one message. Read it in parts with recall_original.`,
			);
		}
		return { text, kind };
	});
}
