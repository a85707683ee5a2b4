import { createHash } from "node:crypto";

/** By what a tool call is known in names: an id may hold what the name of a file may not. */
export function callKey(toolCallId: string | undefined): string {
	if (toolCallId === undefined) return "none";
	return createHash("sha256").update(JSON.stringify(toolCallId)).digest("hex").slice(0, 16);
}
