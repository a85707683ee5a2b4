import type { Path } from "../../engine/path.ts";
import type { MediaNode } from "../../engine/transcript.ts";
import { readAnthropicMedia } from "../anthropic/anthropic-media.ts";
import { readJsonTexts } from "../json-texts.ts";
import { isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { readMedia, tokensOfMedia } from "../media/read-media.ts";

/**
 * Kinds of attachments of which Claude Code sends nothing: what it shows on the screen, keeps for itself, or no longer
 * knows. All others become a text of a user's message (a file that was named, an edited file, memory, skills, reminders).
 */
const unsent: ReadonlySet<unknown> = new Set([
	"already_read_file",
	"command_permissions",
	"dynamic_skill",
	"edited_image_file",
	"hook_cancelled",
	"hook_error_during_execution",
	"hook_non_blocking_error",
	"hook_permission_decision",
	"hook_system_message",
	"structured_output",
	"autocheckpointing",
	"background_task_status",
	"task_progress",
	"todo",
	"ultramemory",
]);
/** Hooks whose output is sent. */
const heardHooks: ReadonlySet<unknown> = new Set(["SessionStart", "UserPromptSubmit"]);

/** What an attachment costs. Nothing of it is edited: it goes with the message that it stands behind. */
export function readAttachment(record: JsonObject, path: Path): { counted: readonly string[]; mediaTokens: number } {
	const { attachment } = record;
	if (!isJsonObject(attachment) || unsent.has(attachment.type)) return { counted: [], mediaTokens: 0 };
	const isHook = attachment.type === "hook_success";
	if (isHook && !heardHooks.has(attachment.hookEvent)) return { counted: [], mediaTokens: 0 };
	const value = isHook ? { content: attachment.content } : attachment;
	const { texts, media, counted } = readJsonTexts(value, [...path, "attachment"], readPart);
	return { counted: [...texts.map(({ text }) => text), ...counted], mediaTokens: tokensOfMedia(media) };
}

/** An image or a document: as the API has it, or as Claude Code's own tool reads a file. */
function readPart(part: JsonObject, path: Path): MediaNode | undefined {
	const data = stringAt(part, "base64");
	if (data === undefined) return readAnthropicMedia(part, path);
	return readMedia({ path, provider: "anthropic", data, mediaType: stringAt(part, "type") });
}
