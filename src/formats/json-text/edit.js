import { compactJson, requireJson } from "../../engine/conversation/json.js";
import {
	equalsPath,
	itemBeside,
	parseInsertPointer,
	parseJsonPointer,
	valueAt,
} from "../../engine/conversation/paths.js";
import { wrongArgument } from "../../engine/policy/errors.js";
import { PalimpsestError } from "../../errors.js";
import { locateValues, nodeAt, pathTree } from "./locate.js";
import { readTextDocument } from "./read.js";
import { sha256Of } from "./value.js";
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
export function applyEdits(text, edits) {
	if (typeof text !== "string") throw wrongArgument("the text of `applyEdits`", "a string", text);
	if (!Array.isArray(edits)) throw wrongArgument("the edits of `applyEdits`", "a list", edits);
	checkPlain(edits, "the edits of `applyEdits`");
	return writeEdits(readTextDocument(text, "the text"), edits);
}
export function writeEdits(document, edits) {
	const splices = splicesOfEdits(document, edits);
	const text = applySplices(document.text, splices);
	let shift = 0;
	const back = splices.map(({ start, end, replacement }) => {
		const from = start + shift;
		shift += replacement.length - (end - start);
		return { start: from, end: from + replacement.length, replacement: document.text.slice(start, end) };
	});
	return { text, inverse: { sha256_after: sha256Of(text), splices: back } };
}
/** In characters (UTF-16 code units). */
const largestPiece = 1 << 16;
/** The text of `writeEdits` in pieces, which saves memory. Throws before the first piece. */
export function* editedPieces(document, edits) {
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
export function invertEdits(edited) {
	checkPlain(edited, "the argument of `invertEdits`");
	const { text, inverse } = requireEdited(edited);
	if (sha256Of(text) !== inverse.sha256_after) {
		throw new PalimpsestError("stale_edit", "Expected exactly the text that applyEdits wrote; it has changed since.");
	}
	requireSplices(text, inverse.splices);
	return applySplices(text, inverse.splices);
}
function checkPlain(value, name) {
	try {
		requireJson(value);
	} catch (cause) {
		const got = "a value that contains itself, a bigint, or that cannot be read";
		throw refused(`Expected ${name} to be plain JSON; got ${got}.`, cause);
	}
}
/** Writes values into the text of a document; every other character stays. */
export function writeValues(document, edits) {
	return applySplices(document.text, splicesOf(document, edits));
}
/**
 * The same for a text that grows, as a conversation does from request to request. Where it begins like the text before and
 * the edits are those of it, only the rest is new: that halves the time that a request of the proxy takes
 * (`npm run bench -- proxy`).
 */
export function writeGrown(document, edits, before) {
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
function isSameEdits(edits, others) {
	if (edits.length !== others.length) return false;
	for (let at = 0; at < edits.length; at += 1) {
		const [one, other] = [edits[at], others[at]];
		if (one.kind !== other.kind || one.replacement !== other.replacement || !equalsPath(one.path, other.path))
			return false;
	}
	return true;
}
/** The spelling of the values at some paths in a text, if it is not compact JSON. */
export function spellingsOf(document, paths) {
	const spellings = new Map();
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
export function applySplices(text, splices) {
	return splicedTexts(text, splices).join("");
}
function splicedTexts(text, splices) {
	const texts = [];
	let position = 0;
	for (const { start, end, replacement } of splices) {
		texts.push(text.slice(position, start), replacement);
		position = end;
	}
	texts.push(text.slice(position));
	return texts;
}
function splicesOfEdits(document, edits) {
	const resolved = edits.map((edit) => resolve(document.value, edit));
	return splicesOf(document, resolved);
}
function resolve(value, edit) {
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
function splicesOf(document, edits) {
	const changes = new Map();
	const inserts = new Map();
	const paths = edits.map((edit) => edit.path);
	const tree = locatePaths(document, paths);
	for (const edit of edits) {
		const node = nodeAt(tree, edit.path);
		if (edit.kind === "insert") {
			inserts.set(node, [...(inserts.get(node) ?? []), compactJson(edit.value)]);
			continue;
		}
		if (changes.has(node) || node.children.size > 0) {
			throw refused("Expected edits that do not overlap; two change the same value.");
		}
		changes.set(node, edit);
	}
	const splices = [];
	const collect = (node) => {
		const edit = changes.get(node);
		if (edit?.kind === "replace") {
			if (!node.span) throw refused("Expected edits of values that are in the text.");
			const { start, end } = node.span;
			splices.push({ start, end, replacement: edit.spelling ?? compactJson(edit.replacement) });
			return;
		}
		// Few lists lose or gain items, and a request of 1 MB has a thousand nodes.
		let removed;
		let inserted;
		for (const [index, child] of node.children) {
			if (changes.get(child)?.kind === "remove") removed = (removed ?? new Set()).add(index);
			else collect(child);
			const values = inserts.size > 0 ? inserts.get(child) : undefined;
			if (values) inserted = (inserted ?? new Map()).set(index, values);
		}
		if (removed || inserted) {
			const records = node === tree && document.kind === "json_lines" ? document.text : undefined;
			const lists = { removed: removed ?? new Set(), inserted: inserted ?? new Map() };
			const change = { ...node, items: node.items ?? [], ...lists, records };
			splices.push(...insertions(change), ...removals(change));
		}
	};
	collect(tree);
	return splices.sort((a, b) => a.start - b.start || a.end - b.end);
}
function refused(message, cause) {
	return new PalimpsestError("invalid_argument", message, { cause });
}
function locatePaths(document, paths) {
	const { text, kind, roots } = document;
	const tree = pathTree(paths);
	if (kind === "json") {
		locateValues(text, roots[0]?.start ?? 0, tree);
		return tree;
	}
	// The records are the items of a list that is not in the text.
	tree.items = [...roots];
	for (const [index, child] of tree.children) {
		const root = roots[index];
		if (root) locateValues(text, root.start, child);
	}
	return tree;
}
/** A new value is written next to an item that stays, with a separator between them. */
function insertions({ span, items, removed, inserted, records }) {
	const separator = records === undefined ? "," : "\n";
	const at = (position, replacement) => ({ start: position, end: position, replacement });
	const next = [];
	for (let index = items.length - 1; index >= 0; index -= 1)
		next[index] = removed.has(index) ? next[index + 1] : items[index];
	const last = items.findLast((_, index) => !removed.has(index));
	const alone = [];
	const splices = [];
	for (const [index, values] of [...inserted].sort(([a], [b]) => a - b)) {
		const behind = next[index];
		if (behind) splices.push(...values.map((value) => at(behind.start, value + separator)));
		else if (last) splices.push(...values.map((value) => at(last.end, separator + value)));
		else alone.push(...values);
	}
	if (alone.length > 0) splices.push(at(items[0]?.start ?? (span?.start ?? -1) + 1, alone.join(separator)));
	return splices;
}
/** A record after another on its line goes with the white space before it, so that the line still ends. */
function removals({ items, removed, records }) {
	const splices = [];
	const sharesLine = (previous, first) =>
		records !== undefined && !records.slice(previous.end, first.start).includes("\n");
	for (let index = 0; index < items.length; index += 1) {
		if (!removed.has(index)) continue;
		let last = index;
		while (removed.has(last + 1)) last += 1;
		const [first, next, previous] = [items[index], items[last + 1], items[index - 1]];
		const end = items[last].end;
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
function requireEdited(edited) {
	const { text, inverse } = edited ?? {};
	const isComplete = typeof inverse?.sha256_after === "string" && Array.isArray(inverse.splices);
	if (typeof text === "string" && isComplete) return { text, inverse: inverse };
	throw refused(expectedEdited);
}
function requireSplices(text, splices) {
	let position = 0;
	for (const splice of splices) {
		const { start = -1, end = -1, replacement } = splice ?? {};
		const isPlace = Number.isSafeInteger(start) && Number.isSafeInteger(end) && position <= start && start <= end;
		if (!isPlace || end > text.length || typeof replacement !== "string") {
			throw refused(expectedEdited);
		}
		position = end;
	}
}
/** Edits may have been read from a file. */
function requireEdit(edit) {
	const { kind, path, sha256_before, replacement, value } = edit ?? {};
	const isComplete =
		kind === "remove" ||
		(kind === "replace" && replacement !== undefined) ||
		(kind === "insert" && value !== undefined);
	if (isComplete && typeof path === "string" && typeof sha256_before === "string") return;
	throw refused(
		'Expected edits with `kind` "replace", "remove" or "insert", `path`, `sha256_before`, and `replacement` to replace or `value` to insert.',
	);
}
function shown(path) {
	return JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
}
