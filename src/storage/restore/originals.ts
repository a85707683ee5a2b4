import { compactJson, isJsonObject } from "../../engine/conversation/json.ts";
import { jsonPointer, type Path, valueAt } from "../../engine/conversation/paths.ts";
import { type Edit, type Plan, type TakenOut, takesMessageOut } from "../../engine/conversation/plan.ts";
import type { Archiving } from "../../engine/conversation/report.ts";
import { editablePaths, type Message } from "../../engine/conversation/transcript.ts";
import { groupMessages, pairResults } from "../../engine/conversation/turns.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import type { Originals } from "../../engine/policy/wordings.ts";
import type { ReadConversation } from "../../formats/detect.ts";
import type { Archive, Original } from "../archive/archive.ts";
import { getIfThere, makeLatest, type Place, type Places, parsePlaces, placesKey } from "./places.ts";

/** The spellings in the text of a conversation that differ from compact JSON. */
export type SpellingsOf = (paths: readonly Path[]) => Spellings;

type Spellings = ReadonlyMap<Path, string>;

export interface ArchivedGroup {
	readonly ref: string;
	readonly messages: readonly number[];
}

/**
 * Archives the originals of a plan. Throws PalimpsestError `archive_unavailable` or `ambiguous_reference`; then nothing may
 * be taken out.
 */
export async function archiveOriginals(what: {
	readonly archive: Archive;
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly spellingsOf?: SpellingsOf | undefined;
}): Promise<readonly ArchivedGroup[]> {
	const { archive, source, plan } = what;
	const originals: Original[] = [];
	const results = byResult(plan, source);
	const edited = results.flatMap(({ edits }) => edits.map(({ path }) => path));
	const spellings = what.spellingsOf?.(edited) ?? new Map<Path, string>();
	const needing = results.filter((result) => needsPlaces(result, source, spellings));
	const needed = new Set(needing.map(({ main }) => main.takenOut.ref));
	const readPlaces = placesReader(archive);
	const asked = new Set(what.spellingsOf ? results.map(({ main }) => main.takenOut.ref) : needed);
	const finding = Array.from(asked, async (ref) => [ref, await archive.find(placesKey(ref))] as const);
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
		const places: Places = {
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

type MainEdit = Edit & {
	readonly kind: "replace";
	readonly takenOut: TakenOut & { readonly kind: "result" | "media" };
};

interface ResultEdits {
	readonly main: MainEdit;
	/** The main edit and those of the copies in its record. */
	readonly edits: readonly Edit[];
}

function isMain(edit: Edit): edit is MainEdit {
	return edit.takenOut !== undefined && edit.takenOut.kind !== "group";
}

/** Groups edits by paths: a guard may truncate a text and mask its copy, and a truncated copy no longer looks like one. */
function byResult(plan: Plan, { transcript }: ReadConversation): ResultEdits[] {
	const found: ResultEdits[] = [];
	const editsOf = new Map(plan.map((edit) => [jsonPointer(edit.path), edit]));
	const editsAt = (paths: readonly Path[]) => paths.flatMap((path) => editsOf.get(jsonPointer(path)) ?? []);
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

function placesReader(archive: Archive): (ref: string) => Promise<Places | undefined> {
	const known = new Map<string, Promise<Places | undefined>>();
	return (ref) => {
		const read = known.get(ref) ?? getIfThere(archive, ref).then((stored) => stored && parsePlaces(stored.text));
		known.set(ref, read);
		return read;
	};
}

function needsPlaces({ main, edits }: ResultEdits, { document }: ReadConversation, spellings: Spellings): boolean {
	if (edits.length > 1 || main.takenOut.kind === "media" || edits.some(({ path }) => spellings.has(path))) return true;
	const before = valueAt(document, main.path);
	// A text inside JSON inside a text does not restore the text around it.
	if (typeof before === "string") return before !== main.takenOut.text;
	return !restoresPart(before, main.replacement, main.takenOut.text);
}

/** Whether `text` in place of the placeholder makes the list of one part that was there: what is written may lack its other members. */
function restoresPart(before: unknown, replacement: unknown, text: string): boolean {
	if (!Array.isArray(before) || !Array.isArray(replacement) || before.length !== 1) return false;
	const [only, written] = [before[0] as unknown, replacement[0] as unknown];
	if (!isJsonObject(only) || !isJsonObject(written)) return only === text;
	const key = Object.keys(only).find((name) => only[name] === text);
	return key !== undefined && compactJson({ ...written, [key]: text }) === compactJson(only);
}

function placesOf({ edits }: ResultEdits, { document, located }: ReadConversation, spellings: Spellings): Place[] {
	const depth = located.base.length;
	const record = Number(edits[0]?.path[depth]);
	const replacements = edits.filter((edit) => edit.kind === "replace");
	return replacements.map(({ path, replacement, takenOut }): Place => {
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

export function archivingOf(archive: Archive | undefined, document: unknown): Archiving | undefined {
	if (!archive) return undefined;
	return { refOf: archive.refOf, jsonAt: (path) => compactJson(valueAt(document, path)) };
}

/** Oldest first. A group that an external strategy removes in part is archived message by message. */
function droppedGroups(source: ReadConversation, plan: Plan) {
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
function goneMessages({ transcript, located }: ReadConversation, plan: Plan): ReadonlySet<number> {
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

function archived({ document, transcript }: ReadConversation, messages: readonly number[]) {
	const members = messages.map((index) => transcript.messages[index] as Message);
	const text = compactJson(members.flatMap(({ paths }) => paths.map((path) => valueAt(document, path))));
	const calls = members.flatMap((message) => message.calls).filter(({ id }) => id !== undefined);
	const results = members.flatMap((message) => message.results).filter(({ callId }) => callId !== undefined);
	// Results without their calls are found by the ids that they answer.
	const named =
		calls.length > 0
			? calls.map(({ id, name }) => ({ toolCallId: id, toolName: name }))
			: results.map(({ callId }) => ({ toolCallId: callId }));
	const originals = (named.length === 0 ? [{}] : named).map((one): Original => ({ kind: "group", text, ...one }));
	return { text, messages, originals };
}

export interface KeepsOriginals {
	/** Without it, placeholders name no reference. */
	readonly archive?: Archive | undefined;
	/** Whether the agent has `recall_original`, or how else it reads an original: a tool, or a command with `{ref}`. */
	readonly recall?: "offered" | { readonly by: string } | undefined;
}

export function originalsOf({ archive, recall, policy }: KeepsOriginals & { readonly policy: Policy }): Originals {
	if (!archive) return "not_archived";
	if (recall === undefined || !policy.archive.recall_hint) return "archived";
	return recall === "offered" ? "recallable" : { recalledBy: recall.by };
}
