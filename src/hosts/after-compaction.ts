import { wordsWithin, writeWords } from "../engine/compaction/kept-words.ts";
import { ownWords } from "../engine/compaction/users-words.ts";
import { asksPerson } from "../engine/conversation/asking-tools.ts";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { cleanValue } from "../engine/masking/placeholder.ts";
import { fillTemplate } from "../engine/masking/template.ts";
import type { LocaleName } from "../engine/policy/names.ts";
import { objectOf, objectsOf } from "../formats/json-text/value.ts";
import type { Archive, Listing } from "../storage/archive/archive.ts";
import { readRegularFile } from "../storage/files/access.ts";
import type { HookShell } from "./hook-answers.ts";

/** Claude Code puts a longer context into a file and shows its beginning (https://code.claude.com/docs/en/hooks). */
const mostChars = 9_500;
/** Room for the line that says how many texts are cut. */
const mostNoteChars = 400;
/** Reading this much takes a second. After eight the host goes on without. */
const mostBytes = 128 * 1024 * 1024;
/** Originals that are named, and results among which they are looked for, the newest ones. */
const mostOriginals = 5;
const mostLookedAt = 40;

/**
 * The answer of the `SessionStart` hook after Claude Code has compacted. It has the words of people in the whole transcript
 * (the host's summary is not in it yet), and the largest originals that were archived on arrival.
 * `undefined` for other events, or if there is nothing.
 */
export async function answerCompaction(event: unknown, shell: HookShell): Promise<JsonObject | undefined> {
	if (!isJsonObject(event) || event.source !== "compact" || typeof event.transcript_path !== "string") return undefined;
	const { policy, archive, command } = shell;
	const { locale } = policy;
	const bytes = await readRegularFile(event.transcript_path, mostBytes);
	const records = recordsIn(bytes.toString("utf8"));
	const originals = archive ? await listOriginals(records, { archive, command, locale }) : "";
	const asking = askingCalls(records);
	const texts = records.flatMap((record) => [...writtenIn(record), ...answersIn(record, asking)]).flatMap(ownWords);
	const room = mostChars - originals.length - mostNoteChars;
	const { text, short } = wordsWithin({ texts, mostChars: room, locale });
	const ref = short > 0 ? await archiveWords(texts, shell) : undefined;
	const { some, recall } = wordings[locale];
	const note = short > 0 ? fillTemplate(some, { short, count: texts.length }) : "";
	const how = ref === undefined ? "" : ` ${fillTemplate(recall, { command, ref })}`;
	const parts = [originals, note + how, text ?? ""].filter((part) => part !== "");
	if (parts.length === 0) return undefined;
	return { hookSpecificOutput: { hookEventName: "SessionStart", additionalContext: parts.join("\n\n") } };
}

const wordings: Readonly<Record<LocaleName, Record<"originals" | "original" | "some" | "recall", string>>> = {
	fr: {
		originals: "Les plus grands résultats d'outils de la session, conservés en entier :",
		original: "- {tool} ({chars} caractères) : {command} recall {ref}",
		some: "{short} des {count} textes de l'utilisateur sont abrégés ou omis.",
		recall: "Tous : {command} recall {ref}",
	},
	en: {
		originals: "The largest tool results of this session, kept in full:",
		original: "- {tool} ({chars} characters): {command} recall {ref}",
		some: "{short} of the user's {count} texts are cut or left out.",
		recall: "All of them: {command} recall {ref}",
	},
	zh: {
		originals: "本次会话中最大的工具结果，均完整保留：",
		original: "- {tool}（{chars} 个字符）：{command} recall {ref}",
		some: "用户的 {count} 段原话中有 {short} 段被缩短或省略。",
		recall: "全部：{command} recall {ref}",
	},
};

/** The last line may be under way. */
function recordsIn(lines: string): JsonObject[] {
	return lines.split("\n").flatMap((line) => {
		if (!relevant.test(line)) return [];
		try {
			const record: unknown = JSON.parse(line);
			return isJsonObject(record) && record.isSidechain !== true ? [record] : [];
		} catch {
			return [];
		}
	});
}

const relevant = /"type":\s*"(?:user|assistant|queued_command)"/;

/** The words that a person typed, also while the agent was at work. Claude Code marks texts that it writes in the user's name. */
function writtenIn({ type, message, attachment, ...record }: JsonObject): readonly string[] {
	if (type === "attachment" && isJsonObject(attachment) && attachment.commandMode === "prompt") {
		return textsOf(attachment.prompt);
	}
	const isHosts = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"].some((mark) => record[mark] === true);
	return type === "user" && !isHosts && isJsonObject(message) ? textsOf(message.content) : [];
}

/** The ids of calls that ask a person. */
function askingCalls(records: readonly JsonObject[]): ReadonlySet<unknown> {
	const blocks = records.flatMap(({ message }) => objectsOf(objectOf(message).content));
	const calls = blocks.filter(({ type, name }) => type === "tool_use" && typeof name === "string" && asksPerson(name));
	return new Set(calls.map(({ id }) => id));
}

/** What a person answered to a tool. */
function answersIn({ message }: JsonObject, asking: ReadonlySet<unknown>): string[] {
	const blocks = objectsOf(objectOf(message).content);
	return blocks.flatMap(({ type, tool_use_id: id, content }) =>
		type === "tool_result" && asking.has(id) ? textsOf(content) : [],
	);
}

function textsOf(content: unknown): string[] {
	const blocks = typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
	// A command without arguments has an empty tag of them.
	return blocks.flatMap(({ type, text }) =>
		type === "text" && typeof text === "string" ? [text.replaceAll(/<command-args>\s*<\/command-args>/g, "")] : [],
	);
}

/** Names the largest of the newest results that were archived on arrival, in their order. */
async function listOriginals(
	records: readonly JsonObject[],
	{ archive, command, locale }: { readonly archive: Archive; readonly command: string; readonly locale: LocaleName },
): Promise<string> {
	const blocks = records.flatMap(({ message }) => objectsOf(objectOf(message).content));
	const calls = new Map(blocks.filter(({ type }) => type === "tool_use").map((call) => [call.id, call]));
	const ids = blocks.flatMap(({ type, tool_use_id: id, content }) => {
		const isShortened =
			type === "tool_result" && typeof id === "string" && noticeOf.test(JSON.stringify(content) ?? "");
		return isShortened ? [id] : [];
	});
	const found: Listing[] = [];
	for (const id of ids.slice(-mostLookedAt))
		found.push(...(await archive.find(id)).filter(({ kind }) => kind === "result"));
	const largest = new Set(found.toSorted((a, b) => b.chars - a.chars).slice(0, mostOriginals));
	const lines = found.flatMap((original) => {
		if (!largest.has(original)) return [];
		const { ref, chars, toolName = "", toolCallId } = original;
		const input = objectOf(calls.get(toolCallId)?.input);
		const about = [input.command, input.pattern, input.url, input.query].find((one) => typeof one === "string");
		const tool = [toolName, ...(about === undefined ? [] : [about as string])].map(cleanValue).join(", ");
		return [fillTemplate(wordings[locale].original, { tool, chars, command, ref })];
	});
	return lines.length === 0 ? "" : [wordings[locale].originals, ...lines].join("\n");
}

const noticeOf = / recall \w+\]/;

/** `undefined` if it cannot be archived: the words that fit are worth more than an error. */
async function archiveWords(texts: readonly string[], { archive, policy }: HookShell): Promise<string | undefined> {
	const text = writeWords(texts, policy.locale);
	if (archive === undefined || text === undefined) return undefined;
	const [ref] = await archive.put([{ kind: "text", text }]).catch(() => []);
	return ref;
}
