import type { Archive, Original } from "../archive/archive.ts";
import { compactJson } from "../engine/compact-json.ts";
import type { Edit, EditedResult, Plan, TakenOut } from "../engine/edit.ts";
import { jsonPointer, type Path, valueAt } from "../engine/path.ts";
import type { ReadConversation } from "../formats/read-conversation.ts";
import { droppedGroups } from "./dropped-groups.ts";
import { type Place, type Places, placesKey } from "./places.ts";

/** How values are spelled in the text of a conversation, where that is not compact JSON. */
export type SpellingsOf = (paths: readonly Path[]) => ReadonlyMap<Path, string>;

/** A group of messages that was dropped, and where it can be read again. */
export interface ArchivedGroup {
	readonly ref: string;
	/** Indexes of its messages in the input. */
	readonly messages: readonly number[];
}

/**
 * Archives what a plan takes out, before it is applied: the texts of results, images as JSON, dropped groups and what
 * a summary stands for as the JSON of their messages, and where a text alone could not bring back the very bytes, the places that it stood in.
 *
 * @throws PalimpsestError `archive_unavailable`; then nothing may be taken out.
 */
export async function archiveOriginals(what: {
	readonly archive: Archive;
	readonly source: ReadConversation;
	readonly plan: Plan;
	readonly spellingsOf?: SpellingsOf | undefined;
}): Promise<readonly ArchivedGroup[]> {
	const { archive, source, plan } = what;
	const spellings = what.spellingsOf?.(plan.filter(isTakenOut).map(({ path }) => path)) ?? new Map<Path, string>();
	const originals: Original[] = [];
	const results = byResult(plan);
	const needing = results.filter(({ main, edits }) => needsPlaces(main, edits, source, spellings));
	const placed = new Set(needing.map(({ main }) => main.takenOut.ref));
	if (what.spellingsOf) for (const ref of await placedBefore(archive, results)) placed.add(ref);
	for (const { main, edits } of results) {
		const { takenOut, result } = main;
		const { kind, text, ref } = takenOut;
		originals.push({ kind, text, toolCallId: result?.toolCallId, toolName: result?.toolName });
		// Where the same text stood elsewhere in another spelling, that would be taken for this one's.
		if (placed.has(ref)) {
			const places: Places = {
				record: Number(main.path[source.located.base.length]),
				tool_call_id: result?.toolCallId,
				places: placesOf(edits, source, spellings),
			};
			originals.push({ kind: "places", text: JSON.stringify(places), toolCallId: placesKey(ref) });
		}
	}
	for (const { takenOut } of plan) {
		if (takenOut?.kind === "group") originals.push({ kind: "group", text: takenOut.text });
	}
	const groups = droppedGroups(source, plan);
	originals.push(...groups.flatMap(({ originals: ofGroup }) => ofGroup));
	if (originals.length > 0) await archive.put(originals);
	return groups.map(({ text, messages }) => ({ ref: archive.refOf(text), messages }));
}

type TakenFromResult = TakenOut & { readonly kind: "result" | "media" };
type MainEdit = Edit & { readonly kind: "replace"; readonly takenOut: TakenFromResult };

interface ResultEdits {
	readonly main: MainEdit;
	/** The main edit and those of the copies that a record keeps beside it. */
	readonly edits: readonly Edit[];
}

function isTakenOut(edit: Edit): boolean {
	return edit.reason === "mask" || edit.reason === "truncate";
}

function isMain(edit: Edit): edit is MainEdit {
	return edit.kind === "replace" && edit.takenOut !== undefined && edit.takenOut.kind !== "group";
}

/** The edits of each result: a text taken out, and behind it the copies that go with it. */
function byResult(plan: Plan): ResultEdits[] {
	const found: { main: MainEdit; edits: Edit[] }[] = [];
	const latest = new Map<EditedResult | undefined, { main: MainEdit; edits: Edit[] }>();
	for (const edit of plan) {
		if (isMain(edit)) {
			const started = { main: edit, edits: [edit] };
			found.push(started);
			latest.set(edit.result, started);
		} else if (edit.reason === "mask") latest.get(edit.result)?.edits.push(edit);
	}
	return found;
}

/** The texts of which places are kept already. */
async function placedBefore(archive: Archive, results: readonly ResultEdits[]): Promise<readonly string[]> {
	const refs = [...new Set(results.map(({ main }) => main.takenOut.ref))];
	const found = await Promise.all(refs.map((ref) => archive.find(placesKey(ref))));
	return refs.filter((_, index) => found[index]?.length !== 0);
}

/** Whether the text alone would not bring back what stood there, byte for byte. */
function needsPlaces(
	main: MainEdit,
	edits: readonly Edit[],
	{ document }: ReadConversation,
	spellings: ReadonlyMap<Path, string>,
): boolean {
	if (edits.length > 1 || main.takenOut.kind === "media" || edits.some(({ path }) => spellings.has(path))) return true;
	const before = valueAt(document, main.path);
	// A list of one text part is brought back by its text.
	return typeof before !== "string" && !(Array.isArray(before) && before.length === 1);
}

function placesOf(
	edits: readonly Edit[],
	{ document, located }: ReadConversation,
	spellings: ReadonlyMap<Path, string>,
): Place[] {
	const depth = located.base.length;
	const record = Number(edits[0]?.path[depth]);
	return edits.flatMap((edit): Place[] => {
		if (edit.kind !== "replace") return [];
		const was = spellings.get(edit.path) ?? compactJson(valueAt(document, edit.path));
		const isInText = edit.takenOut?.kind === "media" && edit.takenOut.text === was;
		return [
			{
				offset: Number(edit.path[depth]) - record,
				path: jsonPointer(edit.path.slice(depth + 1)),
				is: edit.replacement,
				...(isInText ? {} : { was }),
			},
		];
	});
}
