import type { OriginalKind } from "./archive.ts";
import type { About } from "./driver.ts";

const kinds: ReadonlySet<unknown> = new Set<OriginalKind>(["result", "text", "arguments", "group", "media", "places"]);

/** What a text was, as JSON. */
export function writeAbout(about: About): string {
	const { kind, toolCallId, toolName, chars, bytes, archivedAt, redactions } = about;
	return JSON.stringify({
		kind,
		...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
		...(toolName === undefined ? {} : { tool_name: toolName }),
		chars,
		bytes,
		archived_at: archivedAt,
		redactions,
	});
}

/** Reads it; `undefined` where it is damaged. */
export function readAbout(json: string): About | undefined {
	// Checked by hand: a hook that archives one text would take longer to load a schema than for all else.
	const written = parsed(json);
	const {
		kind,
		tool_call_id: toolCallId,
		tool_name: toolName,
		chars,
		bytes,
		archived_at: archivedAt,
		redactions,
	} = written;
	if (!isKind(kind) || !isTextOrAbsent(toolCallId) || !isTextOrAbsent(toolName)) return undefined;
	if (!isNumber(chars) || !isNumber(bytes) || !isNumber(archivedAt) || !isNumber(redactions)) return undefined;
	return { kind, toolCallId, toolName, chars, bytes, archivedAt, redactions };
}

function parsed(json: string): Readonly<Record<string, unknown>> {
	try {
		const value: unknown = JSON.parse(json);
		return typeof value === "object" && value !== null ? { ...value } : {};
	} catch {
		return {};
	}
}

/** Whether a value is the kind of an original. */
export function isKind(value: unknown): value is OriginalKind {
	return kinds.has(value);
}

function isTextOrAbsent(value: unknown): value is string | undefined {
	return value === undefined || typeof value === "string";
}

function isNumber(value: unknown): value is number {
	return typeof value === "number" && Number.isFinite(value);
}
