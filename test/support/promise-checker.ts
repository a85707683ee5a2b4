import { callerOf, type RawMessage, rawList, readRaw, textOfContent } from "./raw-conversation.ts";
import type { FormatName } from "./script.ts";

/** The fields of an edit record that the checker needs. */
interface EditRecord {
	readonly kind: "replace" | "remove" | "insert";
	readonly path: string;
	readonly reason: string;
	readonly message?: number | undefined;
	readonly before: { readonly chars: number; readonly tokens: number };
	readonly after: { readonly chars: number; readonly tokens: number };
	readonly replacement?: unknown;
}

interface Checked {
	readonly format: FormatName;
	readonly before: unknown;
	readonly after: unknown;
	readonly edits: readonly EditRecord[];
	readonly countTokens: (text: string) => number;
}

/**
 * Checks an outcome against the promises of the contract, with no code of the product: it reads the JSON itself,
 * applies the edit records itself, pairs by looking back, and counts again. Returns what is broken, in words.
 */
export function brokenPromises(checked: Checked): string[] {
	const { before, after, edits, format } = checked;
	const broken: string[] = [];
	if (JSON.stringify(applyRecords(before, edits)) !== JSON.stringify(after)) {
		broken.push("the conversation is not what the edits make of the input");
		return broken;
	}
	const messages = readRaw(before, format);
	for (const edit of edits) broken.push(...brokenByEdit(edit, messages, checked));

	const removed = new Set(
		edits.flatMap((edit) => (edit.kind === "remove" && edit.message !== undefined ? [edit.message] : [])),
	);
	const touched = new Set(edits.map((edit) => edit.message));
	const kept = messages.filter((message) => !removed.has(message.index));
	const output = rawList(after);
	if (output.length !== kept.length) broken.push(`${output.length} messages where ${kept.length} should stand`);
	kept.forEach((message, position) => {
		if (touched.has(message.index)) return;
		if (output[position] !== message.value) broken.push(`untouched message ${message.index} is not the very same`);
	});
	return [...broken, ...brokenFields(before, after), ...brokenPairs(messages, kept, readRaw(after, format))];
}

/** The text of a frozen document, which many checks begin with. */
const texts = new WeakMap<object, string>();

function textOf(document: unknown): string {
	if (typeof document !== "object" || document === null || !Object.isFrozen(document)) return JSON.stringify(document);
	const text = texts.get(document) ?? JSON.stringify(document);
	texts.set(document, text);
	return text;
}

/** Applies edit records in the plainest way: on a copy, replacements first, removals from the end. */
export function applyRecords(document: unknown, edits: readonly EditRecord[]): unknown {
	const copy: unknown = JSON.parse(textOf(document));
	const removals: { parent: unknown[]; key: number }[] = [];
	for (const edit of edits) {
		const keys = edit.path.split("/").slice(1);
		const last = keys.pop() ?? "";
		const parent = keys.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], copy);
		if (edit.kind === "replace") (parent as Record<string, unknown>)[last] = edit.replacement;
		else removals.push({ parent: parent as unknown[], key: Number(last) });
	}
	for (const { parent, key } of removals.sort((a, b) => b.key - a.key)) parent.splice(key, 1);
	return copy;
}

function brokenByEdit(edit: EditRecord, messages: readonly RawMessage[], { countTokens }: Checked): string[] {
	const message = messages[edit.message ?? -1];
	if (message === undefined) return [`no message ${edit.message}`];
	if (edit.kind === "remove") {
		if (edit.path !== message.pointer) return [`${edit.path} is no message`];
		return message.isSystem ? [`system message ${message.index} removed`] : [];
	}
	const result = message.results.find(({ pointer }) => edit.path === pointer || edit.path.startsWith(`${pointer}/`));
	if (result === undefined) return [`${edit.path} is no tool result`];

	const inside = edit.path.slice(result.pointer.length);
	const part = /^\/(\d+)\/text$/.exec(inside);
	const old = inside === "" ? result.content : (result.content as { text: unknown }[])[Number(part?.[1])]?.text;
	const [oldText, newText] = [textOfContent(old), textOfContent(edit.replacement)];
	if (oldText === undefined || newText === undefined) return [`${edit.path} holds more than text`];
	const broken: string[] = [];
	if (Array.isArray(old)) {
		const expected = [{ ...(old[0] as object), text: newText }];
		if (JSON.stringify(edit.replacement) !== JSON.stringify(expected)) broken.push(`${edit.path} lost a part's fields`);
	} else if (typeof edit.replacement !== "string") broken.push(`${edit.path} changed its shape`);

	const countAll = (content: unknown) =>
		(Array.isArray(content) ? content.map((item) => (item as { text: string }).text) : [content as string]).reduce(
			(sum, text) => ({ chars: sum.chars + text.length, tokens: sum.tokens + countTokens(text) }),
			{ chars: 0, tokens: 0 },
		);
	const [oldSize, newSize] = [countAll(old), countAll(edit.replacement)];
	if (JSON.stringify([oldSize, newSize]) !== JSON.stringify([edit.before, edit.after])) {
		broken.push(`${edit.path} tells other sizes than it has`);
	}
	if (edit.reason === "mask" && newSize.tokens >= oldSize.tokens) broken.push(`${edit.path} did not shrink`);
	if (edit.reason === "truncate" && newSize.chars >= oldSize.chars) broken.push(`${edit.path} did not get shorter`);
	if (edit.reason === "truncate" && newSize.tokens > oldSize.tokens) broken.push(`${edit.path} grew in tokens`);
	return broken;
}

/** Fields beside the messages: the very same values, in the same order. */
function brokenFields(before: unknown, after: unknown): string[] {
	if (Array.isArray(before)) return Array.isArray(after) ? [] : ["a bare list became something else"];
	const [old, current] = [before as Record<string, unknown>, after as Record<string, unknown>];
	const broken = Object.keys(old).filter((key) => key !== "messages" && old[key] !== current[key]);
	if (Object.keys(old).join() !== Object.keys(current).join()) broken.push("the order of keys");
	return broken.map((key) => `field ${key} changed`);
}

function brokenPairs(
	before: readonly RawMessage[],
	kept: readonly RawMessage[],
	after: readonly RawMessage[],
): string[] {
	const broken: string[] = [];
	const position = new Map(kept.map((message, index) => [message.index, index]));
	for (const message of before) {
		for (const [number, result] of message.results.entries()) {
			const caller = callerOf(before, message.index, result.id);
			const [at, by] = [position.get(message.index), caller === undefined ? undefined : position.get(caller)];
			if (at === undefined && by !== undefined) broken.push(`call in message ${caller} lost its result`);
			if (at === undefined) continue;
			if (caller !== undefined && by === undefined) broken.push(`result in message ${message.index} lost its call`);
			const current = after[at]?.results[number];
			if (current === undefined || current.id !== result.id)
				broken.push(`result in message ${message.index} lost its id`);
			else if (callerOf(after, at, current.id) !== by)
				broken.push(`result in message ${message.index} has another call`);
		}
	}
	for (const [index, message] of kept.entries()) {
		const same =
			JSON.stringify([message.role, message.calls]) === JSON.stringify([after[index]?.role, after[index]?.calls]);
		if (!same) broken.push(`message ${message.index} changed its role or its calls`);
	}
	return broken;
}
