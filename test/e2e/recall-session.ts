import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type StdioSession, stdioSession } from "../support/stdio-session.ts";

/** A session of a server that keeps originals in a folder, a new one unless given. */
export async function recallSession(
	options: Parameters<typeof stdioSession>[0] & { readonly archive?: string } = {},
): Promise<StdioSession & { readonly archive: string }> {
	const { archive = await scratchFolder(), parameters = [], ...others } = options;
	const session = await stdioSession({ parameters: ["--archive", archive, ...parameters], ...others });
	return { ...session, archive };
}

/** The structured content of an answer that is no error; of `recall_original`, its text and the facts beside it. */
export function structured<Shape = Record<string, unknown>>(result: CallToolResult): Shape {
	if (result.isError) throw new Error(JSON.stringify(result.content));
	const facts = result._meta?.["palimpsest/facts"];
	if (typeof facts !== "object" || facts === null) return result.structuredContent as Shape;
	const text = textOf(result);
	return { ...facts, text: text.slice(text.indexOf("\n") + 1) } as Shape;
}

/** The text of an answer's first block. */
export function textOf({ content: [block] }: CallToolResult): string {
	if (block?.type !== "text") throw new Error("Expected a block of text.");
	return block.text;
}

/** The references in the placeholders of a conversation, each once, as a model reads them there. */
export function refsIn(messages: unknown): string[] {
	const found = JSON.stringify(messages).matchAll(/\br[ée]f=([a-z0-9]+)/g);
	return [...new Set(Array.from(found, ([, ref]) => ref ?? ""))];
}

/** What `recall_original` answers with for a part. */
export interface RecalledAnswer {
	readonly ref: string;
	readonly kind: string;
	readonly text: string;
	readonly tokens: number;
	readonly total: { readonly lines: number; readonly chars: number };
	readonly left_out_chars: number;
	readonly redactions: number;
	readonly next: Readonly<Record<string, unknown>> | null;
	readonly tool_call_id?: string;
	readonly tool_name?: string;
}
