import type { Path } from "../../engine/path.ts";
import type { Message, Role } from "../../engine/transcript.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { addResult, finishMessage, type MessageDraft, startMessage } from "../message-draft.ts";
import { isSearchByProvider, readAnswerItem } from "./response-answer.ts";
import { readResponseOutput, screenshotTokens } from "./response-output.ts";
import { countParts, sealedTokens } from "./response-parts.ts";

const roles: Readonly<Record<string, Role>> = {
	user: "user",
	assistant: "assistant",
	system: "system",
	developer: "system",
};

/** An answer of the model while its items are read. */
interface Answer {
	readonly role: "assistant";
	readonly paths: Path[];
	readonly draft: MessageDraft;
	/** References among its items whose call, if they are one, is not known yet. */
	openReferences: number;
	/** Index of the last output of its calls. */
	answeredBy: number;
}

interface Other {
	readonly role: Role;
	readonly paths: Path[];
	readonly draft: MessageDraft;
}

/**
 * Reads the items of a request as messages. A run of items that the model gave is one message; it ends at an output or
 * at a message of someone else. Reasoning and texts belong to the run, since the API wants a reasoning item beside the
 * item that followed it. What the model gives before all outputs of a run are in belongs to it as well: otherwise two
 * runs could become one when what stands between them is dropped.
 */
export function readResponseItems(items: readonly unknown[], base: Path): Message[] {
	const messages: (Answer | Other)[] = [];
	const callIds = readCallIds(items);
	const lastOutputs = findLastOutputs(items);
	const seen = new Set<string>();
	let latest: Answer | undefined;
	for (const [index, item] of items.entries()) {
		if (!isJsonObject(item)) continue;
		const path = [...base, index];
		const type = itemType(item);
		if (isOfAnswer(item, type)) {
			if (latest === undefined || (messages.at(-1) !== latest && latest.answeredBy < index)) {
				latest = { role: "assistant", paths: [], draft: startMessage(), openReferences: 0, answeredBy: -1 };
				messages.push(latest);
			}
			latest.paths.push(path);
			latest.answeredBy = Math.max(latest.answeredBy, lastOutputs.get(index) ?? -1);
			if (type === "item_reference") latest.openReferences += 1;
			const known = latest.draft.calls.length;
			readAnswerItem({ item, type, path }, latest.draft);
			for (const { id } of latest.draft.calls.slice(known)) if (id !== undefined) seen.add(id);
			continue;
		}
		const other = readOther(item, type, path, callIds);
		for (const { callId } of other.draft.results) {
			if (callId === undefined || seen.has(callId)) continue;
			seen.add(callId);
			// The call stands in a stored item, of which the list has only the reference.
			if (latest && latest.openReferences > 0) {
				latest.openReferences -= 1;
				latest.draft.calls.push({ id: callId, name: undefined });
			}
		}
		messages.push(other);
	}
	return messages.map(({ role, paths, draft }) => finishMessage(role, paths, draft));
}

function itemType(item: JsonObject): string {
	const type = stringAt(item, "type");
	if (type !== undefined) return type;
	return stringAt(item, "role") === undefined && stringAt(item, "id") !== undefined ? "item_reference" : "message";
}

function isOfAnswer(item: JsonObject, type: string): boolean {
	if (type === "message") return item.role === "assistant";
	if (isSearchByProvider(item)) return true;
	return !/_(?:output|approval_response|trigger)$/.test(type) && !["additional_tools", "compaction"].includes(type);
}

function readOther(item: JsonObject, type: string, path: Path, callIds: ReadonlyMap<string, string>): Other {
	const draft = startMessage();
	const as = (role: Role): Other => ({ role, paths: [path], draft });
	switch (type) {
		case "message": {
			const role = stringAt(item, "role") ?? "";
			countParts(item.content, draft);
			return as((Object.hasOwn(roles, role) && roles[role]) || "other");
		}
		case "compaction":
			// It stands for all that was compacted, so it has to stay as a system message does.
			draft.mediaTokens += sealedTokens(item);
			return as("system");
		case "additional_tools":
			draft.counted.push(asCountedText(item.tools));
			return as("system");
		case "compaction_trigger":
			return as("other");
		default:
			if (type === "computer_call_output") draft.mediaTokens += screenshotTokens(item);
			addResult(draft, readResponseOutput(item, type, path, callIds));
			return as("tool");
	}
}

/** The index of the last output of each call, by the call's index. An id that is used again is another call's. */
function findLastOutputs(items: readonly unknown[]): ReadonlyMap<number, number> {
	const byCall = new Map<number, number>();
	const byId = new Map<string, number>();
	for (const [back, item] of items.toReversed().entries()) {
		const index = items.length - 1 - back;
		const id = isJsonObject(item) ? idAt(item, "call_id") : undefined;
		if (!isJsonObject(item) || id === undefined) continue;
		const type = itemType(item);
		if (!isOfAnswer(item, type)) {
			if (!byId.has(id)) byId.set(id, index);
			continue;
		}
		const output = byId.get(id);
		if (output !== undefined) byCall.set(index, output);
		byId.delete(id);
	}
	return byCall;
}

/** Ids of calls of the local shell by the id of their item, since their outputs may name either. */
function readCallIds(items: readonly unknown[]): ReadonlyMap<string, string> {
	const callIds = new Map<string, string>();
	for (const item of items) {
		if (!isJsonObject(item) || item.type !== "local_shell_call") continue;
		const [id, callId] = [idAt(item, "id"), idAt(item, "call_id")];
		if (id !== undefined && callId !== undefined) callIds.set(id, callId);
	}
	return callIds;
}
