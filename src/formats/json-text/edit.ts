import { compactJson, requireJson } from "../../engine/conversation/json.ts";
import {
	equalsPath,
	itemBeside,
	type Path,
	parseInsertPointer,
	parseJsonPointer,
	valueAt,
} from "../../engine/conversation/paths.ts";
import { wrongArgument } from "../../engine/policy/errors.ts";
import { PalimpsestError } from "../../errors.ts";
import { locateValues, nodeAt, type PathTree, pathTree, type Span } from "./locate.ts";
import { readTextDocument, type TextDocument } from "./read.ts";
import { sha256Of } from "./value.ts";

/** An edit in answers and reports, such as the `edits` of `mask` and `guard`. */
export interface PortableEdit {
	/** `remove`: an item of a list; `insert`: a value before an item or after the last. */
	readonly kind: "replace" | "remove" | "insert";
	/**
	 * JSON Pointer (RFC 6901) into the conversation before any edit. For JSON Lines, the first segment is the number of the
	 * record, counted from 0 without blank lines.
	 */
	readonly path: string;
	/**
	 * SHA-256 (hex) of the value at `path` before: of a string's UTF-8, of any other value's compact JSON. For an `insert`
	 * after the last item, of that item; into an empty list, of the list.
	 */
	readonly sha256_before: string;
	/** Only on `replace`. */
	readonly replacement?: unknown;
	/** Only on `insert`. */
	readonly value?: unknown;
}

export interface Splice extends Span {
	readonly replacement: string;
}

/** Takes the edits of a text back, to the byte. Plain JSON. */
export interface InverseEdits {
	/** SHA-256 (hex) of the edited text. */
	readonly sha256_after: string;
	/** In order; `start` and `end` are characters (UTF-16 code units) of the edited text. */
	readonly splices: readonly Splice[];
}

/**
 * Applies edits to the JSON or JSON Lines text of the conversation that they were made for. Outside the edited values every
 * character stays. Edits made from a parsed copy fit as well:
 *
 * ```ts
 * const text = await readFile("chat.json", "utf8");
 * const { edits } = await mask(JSON.parse(text));
 * const edited = applyEdits(text, edits);
 * await writeFile("masked.json", edited.text);
 * invertEdits(edited) === text; // true
 * ```
 *
 * @throws PalimpsestError `invalid_json`; `stale_edit` if the text differs from the one that an edit was made for;
 * `invalid_argument` for other arguments and for edits that overlap.
 */
export function applyEdits(text: string, edits: readonly PortableEdit[]): { text: string; inverse: InverseEdits } {
	if (typeof text !== "string") throw wrongArgument("the text of `applyEdits`", "a string", text);
	if (!Array.isArray(edits)) throw wrongArgument("the edits of `applyEdits`", "a list", edits);
	checkPlain(edits, "the edits of `applyEdits`");
	return writeEdits(readTextDocument(text, "the text"), edits);
}

export function writeEdits(document: TextDocument, edits: readonly PortableEdit[]) {
	const splices = splicesOfEdits(document, edits);
	const text = applySplices(document.text, splices);
	let shift = 0;
	const back = splices.map(({ start, end, replacement }): Splice => {
		const from = start + shift;
		shift += replacement.length - (end - start);
		return { start: from, end: from + replacement.length, replacement: document.text.slice(start, end) };
	});
	return { text, inverse: { sha256_after: sha256Of(text), splices: back } };
}

/** In characters (UTF-16 code units). */
const largestPiece = 1 << 16;

/** The text of `writeEdits` in pieces, which saves memory. Throws before the first piece. */
export function* editedPieces(document: TextDocument, edits: readonly PortableEdit[]): Generator<string> {
	for (const text of splicedTexts(document.text, splicesOfEdits(document, edits))) {
		for (let from = 0; from < text.length; ) {
			let to = Math.min(from + largestPiece, text.length);
			// A pair of surrogates cannot be written as UTF-8 in two pieces.
			if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to -= 1;
			yield text.slice(from, to);
			from = to;
		}
	}
}

/**
 * Takes edits back: `invertEdits(applyEdits(text, edits))` is `text` to the byte.
 *
 * @throws PalimpsestError `stale_edit` if the text has changed; `invalid_argument` for other arguments.
 */
export function invertEdits(edited: { readonly text: string; readonly inverse: InverseEdits }): string {
	checkPlain(edited, "the argument of `invertEdits`");
	const { text, inverse } = requireEdited(edited);
	if (sha256Of(text) !== inverse.sha256_after) {
		throw new PalimpsestError("stale_edit", "Expected exactly the text that applyEdits wrote; it has changed since.");
	}
	requireSplices(text, inverse.splices);
	return applySplices(text, inverse.splices);
}

function checkPlain(value: unknown, name: string): void {
	try {
		requireJson(value);
	} catch (cause) {
		const got = "a value that contains itself, a bigint, or that cannot be read";
		throw refused(`Expected ${name} to be plain JSON; got ${got}.`, cause);
	}
}

/** `remove` may also name a member of an object. */
export interface ValueEdit extends Pick<PortableEdit, "kind" | "replacement" | "value"> {
	readonly path: Path;
	/** The JSON of `replacement`, if it is not compact JSON. */
	readonly spelling?: string | undefined;
}

/** Writes values into the text of a document; every other character stays. */
export function writeValues(document: TextDocument, edits: readonly ValueEdit[]): string {
	return applySplices(document.text, splicesOf(document, edits));
}

/** A text with its edits written into it. */
export interface WrittenText {
	readonly text: string;
	readonly edits: readonly ValueEdit[];
	readonly written: string;
	/** Where the last edit ends in `text`. */
	readonly editedUntil: number;
}

/**
 * The same for a text that grows, as a conversation does from request to request. Where it begins like the text before and
 * the edits are those of it, only the rest is new: that halves the time that a request of the proxy takes
 * (`npm run bench -- proxy`).
 */
export function writeGrown(
	document: TextDocument,
	edits: readonly ValueEdit[],
	before: WrittenText | undefined,
): WrittenText {
	const { text } = document;
	if (before && edits.length > 0 && isSameEdits(edits, before.edits)) {
		const { editedUntil } = before;
		const rest = text.slice(editedUntil);
		// Of a repeated key the last value counts, which would be in the rest.
		const keys = new Set(edits.map(({ path }) => path[0]));
		const isRepeated = [...keys].some((key) => rest.includes(JSON.stringify(key)));
		if (!isRepeated && text.startsWith(before.text.slice(0, editedUntil))) {
			const until = before.written.length - (before.text.length - editedUntil);
			return { text, edits, written: before.written.slice(0, until) + rest, editedUntil };
		}
	}
	const splices = splicesOf(document, edits);
	return { text, edits, written: applySplices(text, splices), editedUntil: splices.at(-1)?.end ?? 0 };
}

function isSameEdits(edits: readonly ValueEdit[], others: readonly ValueEdit[]): boolean {
	if (edits.length !== others.length) return false;
	for (let at = 0; at < edits.length; at += 1) {
		const [one, other] = [edits[at] as ValueEdit, others[at] as ValueEdit];
		if (one.kind !== other.kind || one.replacement !== other.replacement || !equalsPath(one.path, other.path))
			return false;
	}
	return true;
}

/** The spelling of the values at some paths in a text, if it is not compact JSON. */
export function spellingsOf(document: TextDocument, paths: readonly Path[]): ReadonlyMap<Path, string> {
	const spellings = new Map<Path, string>();
	const tree = locatePaths(document, paths);
	for (const path of paths) {
		const span = nodeAt(tree, path)?.span;
		if (!span) continue;
		const spelling = document.text.slice(span.start, span.end);
		if (spelling !== compactJson(valueAt(document.value, path))) spellings.set(path, spelling);
	}
	return spellings;
}

/** Applies splices that are in order and do not overlap. */
export function applySplices(text: string, splices: readonly Splice[]): string {
	return splicedTexts(text, splices).join("");
}

function splicedTexts(text: string, splices: readonly Splice[]): string[] {
	const texts: string[] = [];
	let position = 0;
	for (const { start, end, replacement } of splices) {
		texts.push(text.slice(position, start), replacement);
		position = end;
	}
	texts.push(text.slice(position));
	return texts;
}

function splicesOfEdits(document: TextDocument, edits: readonly PortableEdit[]): Splice[] {
	const resolved = edits.map((edit) => resolve(document.value, edit));
	return splicesOf(document, resolved);
}

function resolve(value: unknown, edit: PortableEdit): ValueEdit {
	requireEdit(edit);
	const { kind, path, sha256_before, replacement } = edit;
	const found = kind === "insert" ? parseInsertPointer(path, value) : parseJsonPointer(path, value);
	const before = found && (kind === "insert" ? itemBeside(value, found) : valueAt(value, found));
	if (found === undefined || sha256Of(before) !== sha256_before) {
		const problem = found === undefined ? "Nothing is" : "Another value than the edit was made for is";
		throw new PalimpsestError("stale_edit", `${problem} at ${shown(path)}. Make the edits again from this text.`);
	}
	if (kind === "remove" && typeof found.at(-1) !== "number") {
		throw refused(`Expected an edit that removes to name an item of a list; ${shown(path)} is not one.`);
	}
	return { kind, path: found, replacement, value: edit.value };
}

/** @throws PalimpsestError `invalid_argument` for edits that overlap, or whose place is not in the text. */
function splicesOf(document: TextDocument, edits: readonly ValueEdit[]): Splice[] {
	const changes = new Map<PathTree, ValueEdit>();
	const inserts = new Map<PathTree, string[]>();
	const paths = edits.map((edit) => edit.path);
	const tree = locatePaths(document, paths);
	for (const edit of edits) {
		const node = nodeAt(tree, edit.path) as PathTree;
		if (edit.kind === "insert") {
			inserts.set(node, [...(inserts.get(node) ?? []), compactJson(edit.value)]);
			continue;
		}
		if (changes.has(node) || node.children.size > 0) {
			throw refused("Expected edits that do not overlap; two change the same value.");
		}
		changes.set(node, edit);
	}

	const splices: Splice[] = [];
	const collect = (node: PathTree): void => {
		const edit = changes.get(node);
		if (edit?.kind === "replace") {
			if (!node.span) throw refused("Expected edits of values that are in the text.");
			const { start, end } = node.span;
			splices.push({ start, end, replacement: edit.spelling ?? compactJson(edit.replacement) });
			return;
		}
		// Few lists lose or gain items, and a request of 1 MB has a thousand nodes.
		let removed: Set<number> | undefined;
		let inserted: Map<number, readonly string[]> | undefined;
		for (const [index, child] of node.children) {
			const isRemoved = changes.get(child)?.kind === "remove";
			if (isRemoved && typeof index === "string") splices.push(memberRemoval(document.text, child.span));
			else if (isRemoved) removed = (removed ?? new Set()).add(index as number);
			else collect(child);
			const values = inserts.size > 0 ? inserts.get(child) : undefined;
			if (values) inserted = (inserted ?? new Map()).set(index as number, values);
		}
		if (removed || inserted) {
			const records = node === tree && document.kind === "json_lines" ? document.text : undefined;
			const lists = { removed: removed ?? new Set<number>(), inserted: inserted ?? new Map<number, string[]>() };
			const change = { ...node, items: node.items ?? [], ...lists, records };
			splices.push(...insertions(change), ...removals(change));
		}
	};
	collect(tree);
	return splices.sort((a, b) => a.start - b.start || a.end - b.end);
}

function refused(message: string, cause?: unknown): PalimpsestError {
	return new PalimpsestError("invalid_argument", message, { cause });
}

function locatePaths(document: TextDocument, paths: readonly Path[]): PathTree {
	const { text, kind, roots } = document;
	const tree = pathTree(paths);
	if (kind === "json") {
		locateValues(text, roots[0]?.start ?? 0, tree);
		return tree;
	}
	// The records are the items of a list that is not in the text.
	tree.items = [...roots];
	for (const [index, child] of tree.children) {
		const root = roots[index as number];
		if (root) locateValues(text, root.start, child);
	}
	return tree;
}

/** A list, or the records of a text, with the indexes of removed items and of the items after new values. */
interface ListChange extends Pick<PathTree, "span"> {
	readonly items: readonly Span[];
	readonly removed: ReadonlySet<number>;
	/** As JSON. */
	readonly inserted: ReadonlyMap<number, readonly string[]>;
	/** The text, if the items are its records. */
	readonly records: string | undefined;
}

/** A new value is written next to an item that stays, with a separator between them. */
function insertions({ span, items, removed, inserted, records }: ListChange): Splice[] {
	const separator = records === undefined ? "," : "\n";
	const at = (position: number, replacement: string): Splice => ({ start: position, end: position, replacement });
	const next: (Span | undefined)[] = [];
	for (let index = items.length - 1; index >= 0; index -= 1)
		next[index] = removed.has(index) ? next[index + 1] : items[index];
	const last = items.findLast((_, index) => !removed.has(index));
	const alone: string[] = [];
	const splices: Splice[] = [];
	for (const [index, values] of [...inserted].sort(([a], [b]) => a - b)) {
		const behind = next[index];
		if (behind) splices.push(...values.map((value) => at(behind.start, value + separator)));
		else if (last) splices.push(...values.map((value) => at(last.end, separator + value)));
		else alone.push(...values);
	}
	if (alone.length > 0) splices.push(at(items[0]?.start ?? (span?.start ?? -1) + 1, alone.join(separator)));
	return splices;
}

/** A member of an object, with the comma behind it or, if it is the last, before it. */
function memberRemoval(text: string, value: Span | undefined): Splice {
	if (!value) throw refused("Expected edits of values that are in the text.");
	const key = text.lastIndexOf('"', text.lastIndexOf('"', value.start - 1) - 1);
	const behind = /\s*,/y;
	behind.lastIndex = value.end;
	if (behind.test(text)) return { start: key, end: behind.lastIndex, replacement: "" };
	const before = text.slice(0, key).trimEnd();
	return { start: before.endsWith(",") ? before.length - 1 : key, end: value.end, replacement: "" };
}

/** A record after another on its line goes with the white space before it, so that the line still ends. */
function removals({ items, removed, records }: ListChange): Splice[] {
	const splices: Splice[] = [];
	const sharesLine = (previous: Span, first: Span) =>
		records !== undefined && !records.slice(previous.end, first.start).includes("\n");
	for (let index = 0; index < items.length; index += 1) {
		if (!removed.has(index)) continue;
		let last = index;
		while (removed.has(last + 1)) last += 1;
		const [first, next, previous] = [items[index] as Span, items[last + 1], items[index - 1]];
		const end = (items[last] as Span).end;
		const takesBefore = previous && (!next || sharesLine(previous, first));
		splices.push({
			start: takesBefore ? previous.end : first.start,
			end: takesBefore ? end : (next?.start ?? end),
			replacement: "",
		});
		index = last;
	}
	return splices;
}

const expectedEdited =
	"Expected the result of `applyEdits`: `text`, and `inverse` with `sha256_after` and `splices` in order.";

/** The argument may have been read from a file. */
function requireEdited(edited: unknown): { readonly text: string; readonly inverse: InverseEdits } {
	const { text, inverse } = (edited ?? {}) as { readonly text?: unknown; readonly inverse?: Partial<InverseEdits> };
	const isComplete = typeof inverse?.sha256_after === "string" && Array.isArray(inverse.splices);
	if (typeof text === "string" && isComplete) return { text, inverse: inverse as InverseEdits };
	throw refused(expectedEdited);
}

function requireSplices(text: string, splices: readonly Splice[]): void {
	let position = 0;
	for (const splice of splices as readonly (Splice | null)[]) {
		const { start = -1, end = -1, replacement } = splice ?? {};
		const isPlace = Number.isSafeInteger(start) && Number.isSafeInteger(end) && position <= start && start <= end;
		if (!isPlace || end > text.length || typeof replacement !== "string") {
			throw refused(expectedEdited);
		}
		position = end;
	}
}

/** Edits may have been read from a file. */
function requireEdit(edit: PortableEdit): void {
	const { kind, path, sha256_before, replacement, value } = (edit ?? {}) as Partial<PortableEdit>;
	const isComplete =
		kind === "remove" ||
		(kind === "replace" && replacement !== undefined) ||
		(kind === "insert" && value !== undefined);
	if (isComplete && typeof path === "string" && typeof sha256_before === "string") return;
	throw refused(
		'Expected edits with `kind` "replace", "remove" or "insert", `path`, `sha256_before`, and `replacement` to replace or `value` to insert.',
	);
}

function shown(path: string): string {
	return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
