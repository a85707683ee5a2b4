import { z } from "zod";
import type { About } from "./driver.ts";

const written = z.object({
	kind: z.enum(["result", "text", "arguments", "group", "media", "places"]),
	tool_call_id: z.string().optional(),
	tool_name: z.string().optional(),
	chars: z.number(),
	bytes: z.number(),
	archived_at: z.number(),
	redactions: z.number(),
});

/** What a text was, as JSON. */
export function writeAbout(about: About): string {
	const { kind, toolCallId, toolName, chars, bytes, archivedAt, redactions } = about;
	const value: z.input<typeof written> = {
		kind,
		...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
		...(toolName === undefined ? {} : { tool_name: toolName }),
		chars,
		bytes,
		archived_at: archivedAt,
		redactions,
	};
	return JSON.stringify(value);
}

/** Reads it; `undefined` where it is damaged. */
export function readAbout(json: string): About | undefined {
	try {
		const { kind, tool_call_id, tool_name, chars, bytes, archived_at, redactions } = written.parse(JSON.parse(json));
		const call = { toolCallId: tool_call_id, toolName: tool_name };
		return { kind, ...call, chars, bytes, archivedAt: archived_at, redactions };
	} catch {
		return undefined;
	}
}
