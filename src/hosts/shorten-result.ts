import type { FileHandle } from "node:fs/promises";
import type { Archive } from "../archive/archive.ts";
import { openToRead } from "../files/disk.ts";
import { type AnsweredCall, shortenStream, shortenText } from "../operations/truncate-stream.ts";
import { charsCheck } from "../operations/truncation-limit.ts";
import { excerptWordings } from "../policy/wordings.ts";
import type { HookPolicy } from "./hook-policy.ts";
import type { HookContext, ToolEvent } from "./tool-event.ts";

export interface HookShell extends HookPolicy {
	readonly archive: Archive | undefined;
	readonly command: string;
}

/** Hooks truncate pages as text: the library that reads HTML takes longer to load than all the rest. */
const how = { htmlToText: undefined };

export function hookContext(what: HookShell & { readonly event: ToolEvent }): Omit<HookContext, "mostChars"> {
	const { event, policy, archive, command } = what;
	const toolCall = { id: event.toolCallId, name: event.toolName, input: event.input };
	return {
		shorten: (text, most, isCut = false) =>
			shortenText({ text, isCut, policy, archive, toolCall, command, check: charsCheck(most), how }),
		async shortenFile(file, most, start = "") {
			const handle = await openSavedOutput(file);
			if (handle === undefined || (await beginsWith(handle, start))) {
				return handle && shortenSaved({ ...what, handle, toolCall, most });
			}
			await handle.close();
			return undefined;
		},
		wordings: async () => excerptWordings[policy.locale],
	};
}

/** If the host cut the text, the file `savedIn` is shortened and archived instead, unless the text is not in it. */
export async function shortenPassed(
	what: HookShell & { readonly text: string; readonly most: number; readonly savedIn: string | undefined },
): Promise<string | undefined> {
	const { text, most, savedIn, policy, archive, command } = what;
	const check = charsCheck(most);
	if (savedIn === undefined) return shortenText({ text, policy, archive, command, check, how });
	if (check.fits(text)) return undefined;
	const note = shellNoteOf(text);
	const shown = { text: text.slice(0, text.length - note.length), file: savedIn };
	const handle = await openSavedOutput(savedIn);
	if (handle !== undefined && note.length < most && (await isWholeOf(handle, shown))) {
		return (await shortenSaved({ ...what, handle, most: most - note.length })) + note;
	}
	await handle?.close();
	return shortenText({ text, isCut: true, policy, archive, command, check, how });
}

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

/** Reading this much takes some 4 s. After 8 s the host uses the result as it is. */
export const mostSavedBytes = 128 * 1024 * 1024;

/** Characters that a host may add to the part of an output that it shows, beside the name of the file. */
const mostNoticeChars = 2_000;

/** Opens before it checks, so that both are the same file. The caller closes it. */
export async function openSavedOutput(file: string): Promise<FileHandle | undefined> {
	const handle = await openToRead(file).catch(() => undefined);
	if (handle === undefined || (await handle.stat()).size <= mostSavedBytes) return handle;
	await handle.close();
	return undefined;
}

/** Whether the text is the start of the file, its end, or both. Metadata proves nothing: tools may name any path. */
export async function isWholeOf(handle: FileHandle, shown: { readonly text: string; readonly file: string }) {
	const text = Buffer.from(shown.text);
	const { size } = await handle.stat();
	const length = Math.min(size, text.length);
	const first = await readAt(handle, 0, length);
	const last = await readAt(handle, size - length, length);
	const same = commonStart(text, first) + commonStart(text.toReversed(), last.toReversed());
	return same >= text.length - mostNoticeChars - Buffer.byteLength(shown.file) && same >= text.length / 2;
}

async function beginsWith(handle: FileHandle, start: string): Promise<boolean> {
	const bytes = Buffer.from(start);
	return (await readAt(handle, 0, bytes.length)).equals(bytes);
}

/** The note of opencode's shell on how a command ended, such as a time-out. It follows the output and is in no file. */
export function shellNoteOf(text: string): string {
	const from = text.lastIndexOf("\n\n<shell_metadata>\n");
	const isNote = from !== -1 && text.endsWith("\n</shell_metadata>") && text.length - from <= mostNoticeChars;
	return isNote ? text.slice(from) : "";
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
	return buffer.subarray(0, bytesRead);
}

function commonStart(one: Uint8Array, other: Uint8Array): number {
	const difference = one.findIndex((byte, index) => byte !== other[index]);
	return difference === -1 ? one.length : difference;
}
