import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Archive } from "../archive/archive.ts";
import { findPolicyFile } from "../config/policy-file.ts";
import { isJsonObject } from "../conversation/json.ts";
import type { HeldShortening } from "../operations/shorten-held.ts";
import { type AnsweredCall, shortenStream, shortenText } from "../operations/truncate-stream.ts";
import { charsCheck } from "../operations/truncation-limit.ts";
import type { LocaleName, PresetName } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
import type { Policy } from "../policy/schema.ts";
import { type ExcerptWordings, excerptWordings } from "../policy/wordings.ts";

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

/**
 * How a hook shortens: as everywhere, but pages as text. A host waits for its hooks with every tool call, and the library
 * that reads pages takes longer to load and to read 100 kB than all the rest.
 */
export const hookShortening: HeldShortening = { htmlToText: undefined };

/** The texts among the blocks of a result, `{type: "text", text}` or `{text}`, shortened; `undefined` where all fit. */
export async function shortenBlocks(
	blocks: readonly unknown[],
	{ mostChars, shorten }: Pick<HookContext, "mostChars" | "shorten">,
): Promise<unknown[] | undefined> {
	const texts = blocks.map((block) => (isJsonObject(block) && typeof block.text === "string" ? block.text : ""));
	const shares = fairShares(
		texts.map((text) => text.length),
		mostChars,
	);
	let isChanged = false;
	const shortened = await Promise.all(
		blocks.map(async (block, index) => {
			const text = texts[index] as string;
			const share = shares[index] as number;
			if (text.length <= share || !isJsonObject(block)) return block;
			const shorter = await shorten(text, share);
			if (shorter === undefined) return block;
			isChanged = true;
			return { ...block, text: shorter };
		}),
	);
	return isChanged ? shortened : undefined;
}

/** A tool call that a host tells of, and what came of it. */
export interface ToolEvent {
	readonly toolName: string;
	readonly toolCallId: string | undefined;
	readonly input: unknown;
	/** In the shape of the host and of the tool. */
	readonly response: unknown;
}

/** Shortens one text of a tool's result to at most so many characters; `undefined` where it fits. */
export type ShortenPart = (text: string, mostChars: number) => Promise<string | undefined>;

/** What a hook works with. */
export interface HookContext {
	/** Characters up to which a result is left whole. */
	readonly mostChars: number;
	readonly shorten: ShortenPart;
	/** The same for a text that the host has put into a file; `undefined` also where that cannot be read. */
	readonly shortenFile: (file: string, mostChars: number) => Promise<string | undefined>;
	/** The notices, loaded where a result is to be shortened. */
	readonly wordings: () => Promise<ExcerptWordings>;
}

/**
 * Reads an event, whose fields Claude Code and Gemini CLI name alike; `undefined` where it is another event.
 *
 * Sources: https://code.claude.com/docs/en/hooks#posttooluse, https://geminicli.com/docs/hooks/reference#aftertool.
 */
export function readToolEvent(json: string, eventName: string): ToolEvent | undefined {
	const event: unknown = JSON.parse(json);
	if (!isJsonObject(event) || event.hook_event_name !== eventName) return undefined;
	const { tool_name: toolName, tool_use_id: id, tool_input: input, tool_response: response } = event;
	if (typeof toolName !== "string") return undefined;
	return { toolName, toolCallId: typeof id === "string" ? id : undefined, input, response };
}

const ownTools = /(?:recall_original|truncate_output|guard_context|mask_conversation|compact_conversation)$/;

const ownCommands = /\bpalimpsest\b[\w./"' -]*\s(?:recall|run|truncate|restore)\b|\bdist[\\/]+cli\.js["']?\s+recall\s/;

/** Whether a result is of ours: what was recalled must not be shortened again, and what was shortened need not. */
export function isOwnResult({ toolName, input }: Pick<ToolEvent, "toolName" | "input">): boolean {
	if (ownTools.test(toolName)) return true;
	return isJsonObject(input) && typeof input.command === "string" && ownCommands.test(input.command);
}

/** How much of a budget each of several texts gets: those that need less than an equal share leave the rest to the others. */
export function fairShares(lengths: readonly number[], budget: number): number[] {
	const shares = lengths.map(() => 0);
	let left = budget;
	const rising = lengths.map((length, index) => ({ length, index })).sort((a, b) => a.length - b.length);
	for (const [position, { length, index }] of rising.entries()) {
		const share = Math.min(length, Math.floor(left / (rising.length - position)));
		shares[index] = share;
		left -= share;
	}
	return shares;
}

/** Bytes of a saved output that is read at most: some 4 s of work, where a hook has 8 s before its result passes as it is. */
export const mostSavedBytes = 128 * 1024 * 1024;

/** Characters that a host may put around the part of an output that it shows, beside the name of the file. */
const mostNoticeChars = 2_000;

/**
 * Opens the file into which a host has saved an output; `undefined` for anything but a regular file of bounded size. It is
 * opened before it is looked at, so that the file that was checked is the file that is read. The caller closes it.
 */
export async function openSavedOutput(file: string): Promise<FileHandle | undefined> {
	// Without O_NONBLOCK, opening a pipe would wait for a writer. Windows has neither flag.
	const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants;
	const handle = await open(file, O_RDONLY | O_NONBLOCK | O_NOFOLLOW).catch(() => undefined);
	const about = await handle?.stat();
	if (about?.isFile() && about.size <= mostSavedBytes) return handle;
	await handle?.close();
	return undefined;
}

/**
 * Whether a saved output is the whole of the text that a host shows: the text has to be the beginning of the file, its
 * end, or both, but for the host's own notice. Metadata alone proves nothing, since a tool may put any path there.
 */
export async function isWholeOf(handle: FileHandle, shown: { readonly text: string; readonly file: string }) {
	const text = Buffer.from(shown.text);
	const { size } = await handle.stat();
	const length = Math.min(size, text.length);
	const first = await readAt(handle, 0, length);
	const last = await readAt(handle, size - length, length);
	const same = commonStart(text, first) + commonEnd(text, last);
	return same >= text.length - mostNoticeChars - Buffer.byteLength(shown.file) && same >= text.length / 2;
}

/** The note of opencode's shell about how a command ended, such as a time-out. It stands behind the output, in no file. */
export function shellNoteOf(text: string): string {
	const from = text.lastIndexOf("\n\n<shell_metadata>\n");
	const isNote = from !== -1 && text.endsWith("\n</shell_metadata>") && text.length - from <= mostNoticeChars;
	return isNote ? text.slice(from) : "";
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
	const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, position);
	return buffer.subarray(0, bytesRead);
}

function commonStart(one: Buffer, other: Buffer): number {
	const most = Math.min(one.length, other.length);
	let same = 0;
	while (same < most && one[same] === other[same]) same += 1;
	return same;
}

function commonEnd(one: Buffer, other: Buffer): number {
	const most = Math.min(one.length, other.length);
	let same = 0;
	while (same < most && one[one.length - 1 - same] === other[other.length - 1 - same]) same += 1;
	return same;
}

/** What of a policy counts for the result of one call. */
export type UsualPolicy = Pick<Policy, "locale" | "on_archive_failure" | "archive">;

/** What it is where nothing sets it: the schema's own defaults, which a test holds it to. */
export const usualPolicy: UsualPolicy = {
	locale: "fr",
	on_archive_failure: "refuse",
	archive: {
		max_age_days: 30,
		max_bytes: 1_000_000_000,
		recall_hint: true,
		redact: [],
		redact_credentials: false,
	},
};

/**
 * The usual policy in the language that a preset or a locale sets; a preset changes nothing else of it. `undefined` for
 * names that are none: the schema then says what is wrong.
 */
export function usualPolicyIn(named: {
	readonly PALIMPSEST_PRESET?: string;
	readonly PALIMPSEST_LOCALE?: string;
}): UsualPolicy | undefined {
	const { PALIMPSEST_PRESET: preset, PALIMPSEST_LOCALE: given } = named;
	if (preset !== undefined && !Object.hasOwn(presets, preset)) return undefined;
	const ofPreset = preset === undefined ? undefined : presets[preset as PresetName].policy.locale;
	const locale = given ?? ofPreset ?? usualPolicy.locale;
	return Object.hasOwn(excerptWordings, locale) ? { ...usualPolicy, locale: locale as LocaleName } : undefined;
}

/** Variables of ours that set no field of a policy. */
const others = /^PALIMPSEST_(?:ARCHIVE|NAMESPACE|AUTH_TOKENS|LLM_\w+)$/;

/**
 * Whether nothing sets a policy here: no file, no variable. The defaults then count, and the schema, which takes longer to
 * load than a result to shorten, need not be.
 */
export async function isPolicyUsual(search: {
	readonly environment: Readonly<Record<string, string | undefined>>;
	readonly workingDirectory: string;
}): Promise<boolean> {
	const isSet = ([name, value]: [string, string | undefined]) =>
		name.startsWith("PALIMPSEST_") && !others.test(name) && value !== "";
	return !Object.entries(search.environment).some(isSet) && (await findPolicyFile(search)) === null;
}
