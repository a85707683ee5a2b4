import { compactJson, isJsonObject } from "../../engine/conversation/json.js";
import { jsonPointer, valueAt } from "../../engine/conversation/paths.js";
import { takesMessageOut } from "../../engine/conversation/plan.js";
import { editablePaths } from "../../engine/conversation/transcript.js";
import { groupMessages, pairResults } from "../../engine/conversation/turns.js";
import { getIfThere, makeLatest, parsePlaces, placesKey } from "./places.js";
/**
 * Archives the originals of a plan. Throws PalimpsestError `archive_unavailable` or `ambiguous_reference`; then nothing may
 * be taken out.
 */
export async function archiveOriginals(what) {
	const { archive, source, plan } = what;
	const originals = [];
	const results = byResult(plan, source);
	const edited = results.flatMap(({ edits }) => edits.map(({ path }) => path));
	const spellings = what.spellingsOf?.(edited) ?? new Map();
	const needing = results.filter((result) => needsPlaces(result, source, spellings));
	const needed = new Set(needing.map(({ main }) => main.takenOut.ref));
	const readPlaces = placesReader(archive);
	const asked = new Set(what.spellingsOf ? results.map(({ main }) => main.takenOut.ref) : needed);
	const finding = Array.from(asked, async (ref) => [ref, await archive.find(placesKey(ref))]);
	const before = new Map(await Promise.all(finding));
	for (const one of results) {
		const { main, edits } = one;
		const { result } = main;
		const { ref } = main.takenOut;
		// The marker in a copy names the original of the copy.
		for (const { takenOut } of edits.filter(isMain)) {
			const { kind, text } = takenOut;
			originals.push({ kind, text, toolCallId: result?.toolCallId, toolName: result?.toolName });
		}
		// Earlier places of the same text, in another spelling, would be taken for this one's.
		const earlier = before.get(ref) ?? [];
		if (!needed.has(ref) && earlier.length === 0) continue;
		const places = {
			record: Number(main.path[source.located.base.length]),
			tool_call_id: result?.toolCallId,
			places: placesOf(one, source, spellings),
		};
		const latest = await makeLatest({ places, earlier, refOf: archive.refOf, read: readPlaces });
		originals.push({ kind: "places", text: JSON.stringify(latest), toolCallId: placesKey(ref) });
	}
	for (const { takenOut } of plan) {
		if (takenOut?.kind === "group") originals.push({ kind: takenOut.kind, text: takenOut.text });
	}
	const groups = droppedGroups(source, plan);
	originals.push(...groups.flatMap(({ originals: ofGroup }) => ofGroup));
	if (originals.length > 0) await archive.put(originals);
	return groups.map(({ text, messages }) => ({ ref: archive.refOf(text), messages }));
}
function isMain(edit) {
	return edit.takenOut !== undefined && edit.takenOut.kind !== "group";
}
/** Groups edits by paths: a guard may truncate a text and mask its copy, and a truncated copy no longer looks like one. */
function byResult(plan, { transcript }) {
	const found = [];
	const editsOf = new Map(plan.map((edit) => [jsonPointer(edit.path), edit]));
	const editsAt = (paths) => paths.flatMap((path) => editsOf.get(jsonPointer(path)) ?? []);
	for (const message of new Set(plan.map((edit) => edit.message))) {
		for (const result of transcript.messages[message]?.results ?? []) {
			const copies = new Set(result.copies.map(({ path }) => jsonPointer(path)));
			const all = [...new Set(editsAt(editablePaths(result)))];
			const mains = all.filter(isMain).filter(({ path }) => !copies.has(jsonPointer(path)));
			const ofCopies = all.filter((edit) => !mains.some((main) => main === edit));
			// The copies go with the last text.
			const last = mains.findLast(({ takenOut }) => takenOut.kind === "result") ?? mains.at(-1);
			for (const main of mains) found.push({ main, edits: main === last ? [main, ...ofCopies] : [main] });
		}
	}
	return found;
}
function placesReader(archive) {
	const known = new Map();
	return (ref) => {
		const read = known.get(ref) ?? getIfThere(archive, ref).then((stored) => stored && parsePlaces(stored.text));
		known.set(ref, read);
		return read;
	};
}
function needsPlaces({ main, edits }, { document }, spellings) {
	if (edits.length > 1 || main.takenOut.kind === "media" || edits.some(({ path }) => spellings.has(path))) return true;
	const before = valueAt(document, main.path);
	// A text inside JSON inside a text does not restore the text around it.
	if (typeof before === "string") return before !== main.takenOut.text;
	// The text restores a list of one part that holds nothing else.
	const [only, ...others] = Array.isArray(before) ? before : [before];
	const parts = isJsonObject(only) ? Object.values(only) : [only];
	return others.length > 0 || !Array.isArray(before) || !parts.includes(main.takenOut.text);
}
function placesOf({ edits }, { document, located }, spellings) {
	const depth = located.base.length;
	const record = Number(edits[0]?.path[depth]);
	const replacements = edits.filter((edit) => edit.kind === "replace");
	return replacements.map(({ path, replacement, takenOut }) => {
		const was = spellings.get(path) ?? compactJson(valueAt(document, path));
		const isInText = takenOut?.text === was;
		return {
			offset: Number(path[depth]) - record,
			path: jsonPointer(path.slice(depth + 1)),
			is: replacement,
			...(isInText ? {} : { was }),
		};
	});
}
export function archivingOf(archive, document) {
	if (!archive) return undefined;
	return { refOf: archive.refOf, jsonAt: (path) => compactJson(valueAt(document, path)) };
}
/** Oldest first. A group that an external strategy removes in part is archived message by message. */
function droppedGroups(source, plan) {
	const gone = goneMessages(source, plan);
	const { transcript } = source;
	return groupMessages(transcript, pairResults(transcript)).flatMap(({ messages }) => {
		const parts = messages.every((index) => gone.has(index))
			? [messages]
			: messages.flatMap((index) => (gone.has(index) ? [[index]] : []));
		return parts.map((part) => archived(source, part));
	});
}
/** An edit names the first of the messages that its value holds. */
function goneMessages({ transcript, located }, plan) {
	const leaving = plan.filter(takesMessageOut);
	const gone = new Set(leaving.map(({ message }) => message));
	if (gone.size === 0) return gone;
	const values = new Set(leaving.map(({ path }) => jsonPointer(path)));
	const depth = located.base.length + 1;
	transcript.messages.forEach(({ paths }, index) => {
		if (paths.length > 0 && paths.every((path) => values.has(jsonPointer(path.slice(0, depth))))) gone.add(index);
	});
	return gone;
}
function archived({ document, transcript }, messages) {
	const members = messages.map((index) => transcript.messages[index]);
	const text = compactJson(members.flatMap(({ paths }) => paths.map((path) => valueAt(document, path))));
	const calls = members.flatMap((message) => message.calls).filter(({ id }) => id !== undefined);
	const results = members.flatMap((message) => message.results).filter(({ callId }) => callId !== undefined);
	// Results without their calls are found by the ids that they answer.
	const named =
		calls.length > 0
			? calls.map(({ id, name }) => ({ toolCallId: id, toolName: name }))
			: results.map(({ callId }) => ({ toolCallId: callId }));
	const originals = (named.length === 0 ? [{}] : named).map((one) => ({ kind: "group", text, ...one }));
	return { text, messages, originals };
}
export function originalsOf({ archive, recall, policy }) {
	if (!archive) return "not_archived";
	if (recall === undefined || !policy.archive.recall_hint) return "archived";
	return recall === "offered" ? "recallable" : { recalledBy: recall.by };
}
