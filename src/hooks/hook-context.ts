import type { FileHandle } from "node:fs/promises";
import type { Archive } from "../archive/archive.ts";
import type { AnsweredCall } from "../pipeline/stream/answered-call.ts";
import { charsCheck } from "../pipeline/stream/limit-check.ts";
import { shortenStream } from "../pipeline/stream/shorten-stream.ts";
import { shortenText } from "../pipeline/stream/shorten-whole.ts";
import type { Policy } from "../policy/schema.ts";
import { excerptWordings } from "../policy/wordings.ts";
import { hookShortening } from "./hook-shortening.ts";
import { isWholeOf, openSavedOutput, shellNoteOf } from "./saved-output.ts";
import type { HookContext, ToolEvent } from "./tool-event.ts";
import type { UsualPolicy } from "./usual-policy.ts";

/** What a hook shortens with. */
export interface HookShell {
	readonly policy: UsualPolicy;
	readonly archive: Archive | undefined;
	/** All of the policy, which takes longer to load. */
	readonly wholePolicy: () => Promise<Policy>;
	/** How a shell calls this program. */
	readonly command: string;
}

/** Shortens the result of one call by a policy, its whole in an archive. */
export function hookContext(
	what: HookShell & { readonly event: ToolEvent },
): Pick<HookContext, "shorten" | "shortenFile" | "wordings"> {
	const { event, policy, archive, command } = what;
	const toolCall = { id: event.toolCallId, name: event.toolName, input: event.input };
	return {
		shorten: (text, most) =>
			shortenText({ text, policy, archive, toolCall, command, check: charsCheck(most), how: hookShortening }),
		async shortenFile(file, most) {
			const handle = await openSavedOutput(file);
			return handle && shortenSaved({ ...what, handle, toolCall, most });
		},
		wordings: async () => excerptWordings[policy.locale],
	};
}

/**
 * Shortens a text that a plugin passes on; `undefined` where it fits. A host may have cut it, and then names the file that
 * holds the whole (`savedIn`): that is shortened and archived in its place. Where the file cannot be read, or is not what
 * the text comes from, the notice says that only what came is archived.
 */
export async function shortenPassed(
	what: HookShell & { readonly text: string; readonly most: number; readonly savedIn: string | undefined },
): Promise<string | undefined> {
	const { text, most, savedIn, policy, archive, command } = what;
	const check = charsCheck(most);
	if (savedIn === undefined) return shortenText({ text, policy, archive, command, check, how: hookShortening });
	if (check.fits(text)) return undefined;
	const note = shellNoteOf(text);
	const shown = { text: text.slice(0, text.length - note.length), file: savedIn };
	const handle = await openSavedOutput(savedIn);
	if (handle !== undefined && note.length < most && (await isWholeOf(handle, shown))) {
		return (await shortenSaved({ ...what, handle, most: most - note.length })) + note;
	}
	await handle?.close();
	return shortenText({ text, isCut: true, policy, archive, command, check, how: hookShortening });
}

/** Shortens an open file and closes it. */
async function shortenSaved(
	what: HookShell & { readonly handle: FileHandle; readonly most: number; readonly toolCall?: AnsweredCall },
): Promise<string> {
	const { handle, most, wholePolicy, archive, toolCall, command } = what;
	const pieces = handle.createReadStream({ start: 0 });
	const limit = { kind: "chars", most } as const;
	const shortened = await shortenStream({ pieces, policy: await wholePolicy(), archive, toolCall, command, limit });
	if (shortened.failure !== undefined) throw shortened.failure;
	return shortened.kind === "whole" ? shortened.bytes.toString("utf8") : shortened.text;
}
