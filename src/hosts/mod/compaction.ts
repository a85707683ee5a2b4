import { asksPerson, loadsSkill } from "../../engine/conversation/asking-tools.ts";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Message, Transcript } from "../../engine/conversation/transcript.ts";
import { pairResults, toolTurns } from "../../engine/conversation/turns.ts";
import { findErrors } from "../../engine/masking/judge-results.ts";
import { writeMediaPlaceholder, writePlaceholder } from "../../engine/masking/placeholder.ts";
import type { LocaleName } from "../../engine/policy/names.ts";
import { locales } from "../../engine/policy/wordings.ts";
import { refOfHash } from "../../storage/archive/reference.ts";
import { shortenedRef } from "../../storage/restore/recognise.ts";
import { sha256 } from "./disk.ts";

/** A row of a conversation as Claude Code hands it over before it compacts. A row of reasoning alone has neither text nor calls. */
export interface Row {
	readonly role: "user" | "assistant";
	readonly text: string;
	readonly toolUses: readonly { readonly tool_use_id: string; readonly tool: string; readonly input: unknown }[];
	readonly toolResults?: readonly RowResult[];
	/** Names the row as Claude Code has stored it. */
	readonly handle?: string;
}

interface RowResult {
	readonly tool_use_id: string;
	readonly text: string;
	readonly isError?: boolean;
}

/** A result that may be masked. */
export interface OldResult {
	readonly id: string;
	readonly toolName: string;
	readonly text: string;
}

/** The window of masking, and a shorter one for a conversation that is still too large with it. */
export const windows = [8, 2] as const;

/** A placeholder in the place of a text of less than twice its length saves nothing worth a recall. */
const leastGain = 2;

/** An estimate of the longest placeholder. */
const placeholderChars = 200;

/**
 * The results that masking takes out: older than the window of tool turns, and neither an error that nothing has resolved, nor what a
 * person answered, nor the instructions of a skill, nor one that the person keeps (docs/strategies.md#masking).
 */
export function oldResults(
	rows: readonly Row[],
	{ windowTurns, kept = new Set() }: { readonly windowTurns: number; readonly kept?: ReadonlySet<string> },
): readonly OldResult[] {
	const transcript: Transcript = {
		format: "claude-code",
		messages: rows.map(messageOf),
		surroundings: [],
		opensWithUser: true,
	};
	const firstKept = toolTurns(transcript).at(-windowTurns) ?? 0;
	const errors = findErrors(transcript);
	return pairResults(transcript).flatMap(({ result, call, caller }, place) => {
		const { name = "", id = "" } = call ?? {};
		const [{ text } = { text: "" }] = result.texts;
		if (caller === undefined || caller >= firstKept || kept.has(id) || asksPerson(name) || loadsSkill(name)) return [];
		if (errors[place] !== undefined && errors[place].resolvedFrom === undefined) return [];
		return text.length < leastGain * placeholderChars || !text.isWellFormed() ? [] : [{ id, toolName: name, text }];
	});
}

function messageOf({ role, text, toolUses, toolResults = [] }: Row): Message {
	return {
		role,
		paths: [],
		counted: [text, ...toolUses.flatMap(({ tool, input }) => [tool, JSON.stringify(input ?? {})])],
		mediaTokens: 0,
		calls: toolUses.map(({ tool_use_id: id, tool: name }) => ({ id, name })),
		results: toolResults.map((result) => ({
			callId: result.tool_use_id,
			texts: [{ path: [], text: result.text }],
			whole: undefined,
			copies: [],
			media: [],
			isError: result.isError,
		})),
		thinking: [],
	};
}

/** Few tokens have more characters, so that masking saves no less. */
const charsPerToken = 4;

/** Tokens that masking leaves out, at least. */
export function tokensLeftOut(old: readonly OldResult[]): number {
	const chars = old.reduce((sum, { text }) => sum + text.length - placeholderChars, 0);
	return Math.floor(chars / charsPerToken);
}

/** A smaller share would have the next compaction follow at once. */
const leastShare = 0.25;

/**
 * The results that are masked in place of a summary, by the longest window that leaves at least half of the context window free and at
 * least a quarter of the tokens out; `undefined` if none does.
 */
export function inPlaceOfSummary(
	rows: readonly Row[],
	about: { readonly tokens: number; readonly contextWindow: number; readonly kept: ReadonlySet<string> },
): readonly OldResult[] | undefined {
	const { tokens, contextWindow, kept } = about;
	for (const windowTurns of windows) {
		const old = oldResults(rows, { windowTurns, kept });
		const left = tokens - tokensLeftOut(old);
		if (left <= contextWindow / 2 && left <= (1 - leastShare) * tokens) return old;
	}
	return undefined;
}

export interface MaskingArchive {
	/** Rejects where the text could not be kept. */
	readonly keep: (original: OldResult & { readonly hash: string }) => Promise<void>;
	readonly has: (ref: string) => Promise<boolean>;
}

/**
 * The conversation with the results masked, each archived before it is taken out; rejects where one could not be. Only rows of people
 * keep their handles: with the handle of an answer or a result, Claude Code 2.1.332 sends reasoning that no longer fits, which the API
 * refuses, and a resume brings the whole result back. So the rows of reasoning go, and what is no text is named (`media`: by the id of the
 * call, blocks of its result).
 */
export async function maskedRows(
	rows: readonly Row[],
	old: readonly OldResult[],
	how: {
		readonly locale: LocaleName;
		readonly archive: MaskingArchive;
		readonly media?: ReadonlyMap<string, readonly JsonObject[]>;
	},
): Promise<readonly Row[]> {
	const { locale, archive, media = new Map<string, readonly JsonObject[]>() } = how;
	const {
		archived,
		recall_hint: hint,
		unknown_tool: unknownTool,
		media_placeholder: mediaPlaceholder,
	} = locales[locale];
	const texts = new Map<string, string>();
	await Promise.all(
		old.map(async (one) => {
			const { id, toolName, text } = one;
			const hash = await sha256(text);
			await archive.keep({ ...one, hash });
			// An excerpt names its original. Any command may print such a line, so that the excerpt is kept as well.
			const named = shortenedRef(text);
			const ref = named !== undefined && (await archive.has(named)) ? named : refOfHash(hash);
			const values = { toolCallId: id, toolName, originalChars: text.length, ref };
			texts.set(id, writePlaceholder({ placeholder: archived.placeholder + hint, unknownTool }, values));
		}),
	);
	const mediaOf = (id: string) =>
		(media.get(id) ?? []).map(({ type, source }) => {
			const mediaType = isJsonObject(source) && typeof source.media_type === "string" ? source.media_type : undefined;
			const kind = type === "document" ? "document" : "image";
			const node = {
				path: [],
				kind,
				mediaType,
				bytes: undefined,
				dimensions: undefined,
				tokens: 0,
				write: String,
			} as const;
			return writeMediaPlaceholder(
				{ mediaPlaceholder, unknownTool },
				{ toolCallId: id, toolName: undefined, media: node },
			);
		});
	return rows.flatMap((row): Row[] => {
		const { role, text, toolUses, toolResults, handle } = row;
		if (role === "user" && handle !== undefined && !toolResults?.length) return [row];
		if (text === "" && toolUses.length === 0 && !toolResults?.length) return [];
		const plain = toolUses.map(({ tool_use_id, tool, input }) => ({ tool_use_id, tool, input }));
		const results = toolResults?.map((result) => ({
			tool_use_id: result.tool_use_id,
			text: [texts.get(result.tool_use_id) ?? result.text, ...mediaOf(result.tool_use_id)].filter(Boolean).join("\n"),
			isError: result.isError ?? false,
		}));
		return [{ role, text, toolUses: plain, ...(results ? { toolResults: results } : {}) }];
	});
}

/** Rows of reasoning, which a list without handles cannot hold. */
export function reasoningRows(rows: readonly Row[]): number {
	return rows.filter(({ role, text, toolUses }) => role === "assistant" && text === "" && toolUses.length === 0).length;
}

/** What is no text in the results of a conversation as it is sent, by the id of the call. */
export function mediaOfResults(
	messages: readonly { readonly content: unknown }[],
): ReadonlyMap<string, readonly JsonObject[]> {
	const media = new Map<string, readonly JsonObject[]>();
	for (const { content } of messages) {
		for (const { type, tool_use_id: id, content: inner } of Array.isArray(content)
			? content.filter(isJsonObject)
			: []) {
			if (type !== "tool_result" || typeof id !== "string" || !Array.isArray(inner)) continue;
			const others = inner.filter(isJsonObject).filter((block) => block.type === "image" || block.type === "document");
			if (others.length > 0) media.set(id, others);
		}
	}
	return media;
}
