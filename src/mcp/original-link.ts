import type { ResourceLink } from "@modelcontextprotocol/sdk/types.js";
import type { EditRecord } from "../pipeline/edit-record.ts";

/** Where originals are offered as resources. */
export const originalUri = "original://";

/** The most links in one answer: each costs a model some fifty tokens, and placeholders name their originals anyway. */
const mostLinks = 10;

/** A link to an archived original. */
export function originalLink(original: {
	readonly ref: string;
	readonly toolCallId?: string | undefined;
	/** Characters of the text that it takes the place of. */
	readonly chars?: number | undefined;
}): ResourceLink {
	const { ref, toolCallId, chars } = original;
	const facts = [
		...(toolCallId === undefined ? [] : [`tool_call_id ${toolCallId}`]),
		...(chars === undefined ? [] : [`${chars} characters`]),
	];
	const description = facts.length === 0 ? {} : { description: facts.join(", ") };
	return { type: "resource_link", uri: `${originalUri}${ref}`, name: ref, ...description };
}

/** Links to what edits took out: to the last ones, since those are asked for first. */
export function originalLinks(edits: readonly EditRecord[]): ResourceLink[] {
	const byRef = new Map<string, ResourceLink>();
	for (const { ref, tool_call_id: toolCallId, before } of edits) {
		if (ref !== undefined) byRef.set(ref, originalLink({ ref, toolCallId, chars: before.chars }));
	}
	return [...byRef.values()].slice(-mostLinks);
}
