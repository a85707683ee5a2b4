import { callerOf, openerOf, type RawMessage, rawList, readRaw, textOfContent } from "./raw-conversation.ts";
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
	readonly value?: unknown;
}

interface Checked {
	readonly format: FormatName;
	readonly before: unknown;
	readonly after: unknown;
	readonly edits: readonly EditRecord[];
	readonly countTokens: (text: string) => number;
	/** Whether what people wrote stays when their messages go. */
	readonly keepsWords?: boolean;
	/** The tokens that would be left of the budget with all of these texts whole: only a guard that would not fit cuts more. */
	readonly roomForWords?: (more: number) => boolean;
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
	broken.push(...brokenWords(edits, messages, checked));
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

/** Applies edit records in the plainest way: on a copy, replacements first, removals and insertions from the end. */
export function applyRecords(document: unknown, edits: readonly EditRecord[]): unknown {
	const copy: unknown = JSON.parse(textOf(document));
	const splices: { parent: unknown[]; key: number; gone: number; added: unknown[] }[] = [];
	for (const edit of edits) {
		const keys = edit.path.split("/").slice(1);
		const last = keys.pop() ?? "";
		const parent = keys.reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], copy);
		if (edit.kind === "replace") (parent as Record<string, unknown>)[last] = edit.replacement;
		else {
			const isNew = edit.kind === "insert";
			const added = isNew ? [edit.value] : [];
			splices.push({ parent: parent as unknown[], key: Number(last), gone: isNew ? 0 : 1, added });
		}
	}
	splices.sort((a, b) => b.key - a.key || b.gone - a.gone);
	for (const { parent, key, gone, added } of splices) parent.splice(key, gone, ...added);
	return copy;
}

function brokenByEdit(edit: EditRecord, messages: readonly RawMessage[], { countTokens }: Checked): string[] {
	const message = messages[edit.message ?? -1];
	if (message === undefined) return [`no message ${edit.message}`];
	if (edit.kind === "remove") {
		if (edit.path !== message.pointer) return [`${edit.path} is no message`];
		return message.isSystem ? [`system message ${message.index} removed`] : [];
	}
	if (edit.reason === "summary" || edit.reason === "merge") return [];
	const result = message.results.find(({ pointer }) => edit.path === pointer || edit.path.startsWith(`${pointer}/`));
	if (result === undefined) return [`${edit.path} is no tool result`];

	const inside = edit.path.slice(result.pointer.length);
	if (/^\/\d+$/.test(inside)) return brokenByMediaEdit(edit, { result, index: Number(inside.slice(1)) });
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

/** A text part in the place of an image or a file: `prune` takes them out where it is told to. */
function brokenByMediaEdit(
	edit: EditRecord,
	{ result, index }: { readonly result: RawMessage["results"][number]; readonly index: number },
): string[] {
	const old = (result.content as { readonly type?: unknown; readonly text?: unknown }[])[index];
	const { text, ...shape } = edit.replacement as { readonly text?: unknown };
	const isPlain = JSON.stringify(shape) === '{"type":"text"}' && typeof text === "string";
	const broken = old?.type === "text" || typeof old?.text === "string" || !isPlain;
	return broken || edit.after.tokens >= edit.before.tokens ? [`${edit.path} holds more than media`] : [];
}

/**
 * What people wrote in messages that go stands in one text, each between lines of dashes, in the place of the first of
 * these messages or in a user message beside it (docs/compaction.md).
 */
function brokenWords(
	edits: readonly EditRecord[],
	messages: readonly RawMessage[],
	{ keepsWords, countTokens, roomForWords }: Checked,
): readonly string[] {
	const summaries = edits.filter(({ reason }) => reason === "summary" || reason === "merge");
	const gone = new Set(edits.flatMap((edit) => (isGoneBy(edit) ? [edit.message] : [])));
	const all = messages.flatMap((message) => writtenIn(message).map((text) => ({ text, message })));
	const moved = all.filter(({ message }) => gone.has(message.index));
	const [first] = moved;
	if (!keepsWords || first === undefined) return summaries.length === 0 ? [] : ["a text of people where none belongs"];
	const [edit] = summaries;
	if (edit === undefined || summaries.length > 1) return [`${summaries.length} texts of people in place of one`];
	const isReplaced = edit.kind === "replace" && edit.reason === "summary";
	const isInPlace = isReplaced ? edit.path === first.message.pointer : isBeside(edit, first.message);
	if (!isInPlace) return [`the words stand at ${edit.path}`];
	const text = isReplaced
		? contentOf(edit.replacement)
		: edit.reason === "merge"
			? added(edit)
			: textOfPart(edit.value);
	if (typeof text !== "string") return ["the words are no text"];
	const dashes = /\n(-{3,})$/.exec(text)?.[1] ?? "---";
	const [, ...shown] = text.slice(0, -dashes.length - 1).split(`\n${dashes}\n`);
	const isUncut = new Set([all[0], ...all.slice(-3)]);
	let wasLastStep = false;
	const broken: string[] = [];
	let next = 0;
	for (const words of shown) {
		const one = moved[next];
		const gap = Number(/^\[… (\d+) (?:caractères|characters|个字符) …\]$/.exec(words)?.[1] ?? Number.NaN);
		if (one !== undefined && words === one.text) next += 1;
		else if (!Number.isNaN(gap)) {
			wasLastStep = true;
			// A mark of texts that are left out counts each of their characters.
			let left = gap;
			for (; left > 0 && next < moved.length; next += 1) left -= (moved[next]?.text ?? "").length;
			if (left !== 0) broken.push(`a mark of ${gap} characters is not that of whole texts`);
		} else {
			const isCut = one !== undefined && words.length < one.text.length && one.text.length > 660;
			const hasEnds = isCut && words.startsWith(one.text.slice(0, 399)) && words.endsWith(one.text.slice(-200));
			if (!hasEnds) broken.push(`text ${next} of ${moved.length} moved ones is not word for word`);
			if (one !== undefined && isUncut.has(one)) wasLastStep = true;
			next += 1;
		}
	}
	if (next !== moved.length) broken.push(`${next} of ${moved.length} moved texts`);
	const whole = [...moved.map((one) => one.text), ""].join(`\n${dashes}\n`);
	const more = countTokens(whole) - countTokens(shown.join(`\n${dashes}\n`));
	if (wasLastStep && roomForWords?.(more) !== false) broken.push("texts are cut although they fit");
	return broken;

	/** At the end of the user's message that stays before it. */
	function isBeside({ path, message = -1, reason }: EditRecord, { index }: RawMessage): boolean {
		const isKept = ({ index: one, role }: RawMessage) => !gone.has(one) && role === "user";
		const before = messages.findLast((one) => one.index < index && isKept(one));
		const host = messages[message];
		if (host === undefined || host !== before) return false;
		if (reason === "merge") return path === `${host.pointer}/content`;
		const end = (host.value.content as unknown[]).length;
		return path === `${host.pointer}/content/${end}`;
	}

	/** What follows the whole text of the message. */
	function added({ message = -1, replacement }: EditRecord): unknown {
		const own = String(messages[message]?.value.content);
		const lead = own === "" ? "" : `${own}\n\n`;
		return typeof replacement === "string" && replacement.startsWith(lead) ? replacement.slice(lead.length) : undefined;
	}
}

function contentOf(value: unknown): unknown {
	const { role, content } = value as { role?: unknown; content?: unknown };
	return role === "user" ? content : undefined;
}

function textOfPart(value: unknown): unknown {
	return (value as { text?: unknown }).text;
}

function isGoneBy({ kind, reason }: EditRecord): boolean {
	return kind === "remove" || (kind === "replace" && reason === "summary");
}

/** The texts of a user message that are no results, without the white space around them. */
function writtenIn({ role, value: { content } }: RawMessage): string[] {
	if (role !== "user") return [];
	const parts = Array.isArray(content)
		? (content as { type?: unknown; text?: unknown }[])
		: [{ type: "text", text: content }];
	return parts.flatMap(({ type, text }) => {
		const trimmed = type === "text" && typeof text === "string" ? text.trim() : "";
		return trimmed === "" ? [] : [trimmed];
	});
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
	for (const message of before) {
		for (const id of message.names) {
			const opener = openerOf(before, message.index, id);
			if (opener === undefined) continue;
			const [at, by] = [position.get(message.index), position.get(opener)];
			if ((at === undefined) !== (by === undefined)) broken.push(`messages ${opener} and ${message.index} are parted`);
			else if (at !== undefined && openerOf(after, at, id) !== by)
				broken.push(`message ${message.index} names another block`);
		}
	}
	for (const [index, message] of kept.entries()) {
		const same =
			JSON.stringify([message.role, message.calls]) === JSON.stringify([after[index]?.role, after[index]?.calls]);
		if (!same) broken.push(`message ${message.index} changed its role or its calls`);
	}
	return broken;
}
