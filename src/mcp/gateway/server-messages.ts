import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import type { Originals } from "../../engine/policy/wordings.ts";
import { ownTools } from "../../engine/truncation/shown-whole.ts";
import { PalimpsestError } from "../../errors.ts";
import { type ValueEdit, writeValues } from "../../formats/json-text/edit.ts";
import type { TextDocument } from "../../formats/json-text/read.ts";
import type { CallEnd } from "../../log.ts";
import { recallInShell } from "../../proxy/recall-hint.ts";
import {
	addsRecall,
	defersTools,
	type GatewayState,
	moreNames,
	nameOf,
	note,
	outcomeOf,
	recallNames,
} from "./gateway-state.ts";
import { type Asked, type Message, type ReadLine, readLine } from "./messages.ts";
import type { OpenRequest } from "./open-requests.ts";
import { showsStructure } from "./result-texts.ts";
import { hasEnded } from "./tasks.ts";
import { planToolList } from "./tool-list.ts";

/** A value in a line of the server, at its path. */
interface Place {
	readonly path: Path;
	readonly document: TextDocument;
	/** Of the line. */
	readonly bytes: number;
}

/** The edits of an answer. `onWritten` gets the bytes of the message with all edits. */
interface Change {
	readonly edits: readonly ValueEdit[];
	readonly onWritten?: (bytes: number) => void;
}

type Changing = Promise<Change> | undefined;

/** Passes a line of the server to the host, with shorter results. */
export function fromServer(state: GatewayState, line: Buffer): void {
	const { toHost } = state.options;
	const read = readLine(line);
	if (!read) {
		toHost.line(line);
		return;
	}
	const { changes, dropped } = changesOf(state, read, line.length);
	if (changes.length + dropped.length === 0) toHost.line(line);
	// An answer that nobody waits for could be taken for another one.
	else if (dropped.length < read.messages.length) {
		const edits = dropped.map((path): ValueEdit => ({ kind: "remove", path }));
		toHost.line(edited(state, { line, read, changing: [...changes, Promise.resolve({ edits })] }));
	}
}

/** Never rejects. */
async function edited(
	{ options }: GatewayState,
	{
		line,
		read,
		changing,
	}: { readonly line: Buffer; readonly read: ReadLine; readonly changing: readonly Promise<Change>[] },
): Promise<Buffer> {
	try {
		const changes = await Promise.all(changing);
		const edits = changes.flatMap((change) => change.edits);
		const written = edits.length === 0 ? line : Buffer.from(writeValues(read.document, edits));
		for (const { onWritten } of changes) onWritten?.(written.length);
		return written;
	} catch (error) {
		const name = error instanceof Error ? error.name : typeof error;
		options.log({ level: "error", message: "A message passed unchanged", data: { event: "defect", error: name } });
		return line;
	}
}

/** The edits of the messages in a line, and those that are for nobody. */
function changesOf(state: GatewayState, { document, messages }: ReadLine, bytes: number) {
	const changes: Promise<Change>[] = [];
	const dropped: Path[] = [];
	for (const { path, message } of messages) {
		const place = { path, document, bytes };
		if (message.kind === "notification") {
			const change = ofNotification(state, message, place);
			if (change) changes.push(change);
		}
		if (message.kind !== "response") continue;
		const request = message.id === undefined ? undefined : state.open.take(message.id);
		if (request?.onAnswer) request.onAnswer(message.result);
		if (request?.onAnswer || (request === undefined && !state.hasUnread)) dropped.push(path);
		else if (request) {
			const change = ofAnswer(state, { request, result: message.result }, place);
			if (change) changes.push(change);
		}
	}
	return { changes, dropped };
}

function ofNotification(
	state: GatewayState,
	{ method, params }: Message & { kind: "notification" },
	place: Place,
): Changing {
	if (method === "notifications/tools/list_changed") state.tools.changed();
	if (method !== "notifications/tasks" && method !== "notifications/tasks/status") return undefined;
	const at = { ...place, path: [...place.path, "params"] };
	return ofTaskState(state, { told: params, taskId: String(params.taskId) }, at);
}

/** `undefined` for an answer that passes unchanged. */
function ofAnswer(
	state: GatewayState,
	{ request: answered, result }: { readonly request: OpenRequest; readonly result: JsonObject | undefined },
	message: Place,
): Changing {
	const { tasks } = state;
	const { asked } = answered;
	const request = asked.kind === "task" ? tasks.requestOf(asked.taskId) : answered;
	if (request === undefined || asked.kind === "other") return undefined;
	if (result === undefined) {
		if (request.asked.kind === "call") note(state, request, { outcome: "error", bytesOut: message.bytes });
		return undefined;
	}
	const place = { ...message, path: [...message.path, "result"] };
	if (asked.kind === "tool_list") return ofToolList(state, { result, isFirstPage: asked.isFirstPage }, place);
	if (asked.kind === "task") {
		if (asked.inState) return ofTaskState(state, { told: result, taskId: asked.taskId }, place);
		tasks.end(asked.taskId);
	} else tasks.begin(result, request);
	return cut(state, { result, request }, place);
}

/** The state of a task that has ended holds its result. */
function ofTaskState(
	state: GatewayState,
	{ told, taskId }: { readonly told: JsonObject; readonly taskId: string },
	place: Place,
): Changing {
	const request = state.tasks.requestOf(taskId);
	const { result } = told;
	if (request === undefined || !hasEnded(told)) return undefined;
	state.tasks.end(taskId);
	if (!isJsonObject(result)) return undefined;
	return cut(state, { result, request }, { ...place, path: [...place.path, "result"] });
}

function ofToolList(
	state: GatewayState,
	{ result, isFirstPage }: { readonly result: JsonObject; readonly isFirstPage: boolean },
	{ path }: Place,
): Changing {
	const { tools, options } = state;
	tools.listed(result, isFirstPage);
	state.recallName = tools.get(recallNames.usual) ? recallNames.otherwise : recallNames.usual;
	state.moreName = tools.get(moreNames.usual) ? moreNames.otherwise : moreNames.usual;
	// Some servers write null where there is no other page.
	const isLastPage = (result.nextCursor ?? undefined) === undefined;
	if (addsRecall(state) && isLastPage) state.isAdded = true;
	const { choice } = options;
	if (!(isLastPage && addsRecall(state)) && !defersTools(state)) {
		const edits = planToolList(result, { path, choice });
		return edits.length === 0 ? undefined : Promise.resolve({ edits });
	}
	const isAlone = isFirstPage && isLastPage;
	return addedTo(state, isLastPage, isAlone).then(({ added, isDeferred }) => ({
		edits: planToolList(result, { path, choice, added, isDeferred }),
	}));
}

/** What the last page of the list gains, and which tools every page loses for it. */
async function addedTo(state: GatewayState, isLastPage: boolean, isAlone: boolean) {
	const added: unknown[] = [];
	let isDeferred = (_tool: JsonObject): boolean => false;
	if (defersTools(state)) {
		const { deferredBy, isShorter, moreDefinition, deferredTools } = await import("./deferred-tools.ts");
		const deferred = deferredTools(state);
		const more = moreDefinition(state.moreName, deferred);
		if (deferred.length > 0 && (!isAlone || isShorter(more, deferred))) {
			isDeferred = deferredBy(state);
			if (isLastPage) added.push(more);
		}
	}
	if (isLastPage && addsRecall(state)) {
		const { recallDefinition } = await import("./own-recall.ts");
		added.push(recallDefinition(state.recallName));
	}
	return { added, isDeferred };
}

function cut(
	state: GatewayState,
	{ result, request }: { readonly result: JsonObject; readonly request: OpenRequest },
	{ path, document, bytes }: Place,
): Changing {
	const { options, planOf } = state;
	const { maxTokens, policy, log } = options;
	const name = nameOf(request.asked);
	// No text has more characters than its message has bytes, and no token is shorter than a byte.
	const longestWhole = maxTokens ?? policy.truncate.max_tokens ?? policy.truncate.max_chars;
	if (bytes <= longestWhole || ownTools.test(name)) {
		note(state, request, { outcome: outcomeOf(result), bytesOut: bytes, result });
		return undefined;
	}
	const noteEnd = (report?: CallEnd["report"]) => (bytesOut: number) =>
		note(state, request, { outcome: outcomeOf(result), bytesOut, ...(report ? { report } : { result }) });
	const how = { path, request, name, recall: recallOf(state, request.asked), document };
	return planOf(result, { ...how, showsStructure: showsStructure(state.host) }).then(
		({ edits, chars, structureKept }) => {
			if (structureKept !== undefined) {
				const message = `The structured content of ${name} stays whole (${structureKept} characters): no shorter form fits its schema`;
				log({ level: "warning", message, data: { event: "structure_kept", tool: name, chars: structureKept } });
			}
			if (chars.after < chars.before) options.onCut?.(chars);
			return { edits, onWritten: noteEnd({ chars }) };
		},
		(error: unknown) => {
			const code = error instanceof PalimpsestError ? error.code : "internal";
			const message = `A result of ${name} passed whole: ${code}`;
			// A task may tell its results without end.
			if (!request.hasFailed) log({ level: "warning", message, data: { event: "passed_whole", tool: name, code } });
			request.hasFailed = true;
			return { edits: [], onWritten: noteEnd() };
		},
	);
}

function recallOf(state: GatewayState, asked: Asked): Originals {
	const { archive, policy, recall, recallCommand } = state.options;
	if (archive === undefined) return "not_archived";
	if (!policy.archive.recall_hint) return "archived";
	if (recall === "server") return "recallable";
	// A host without tools may still read resources.
	const hasTool = addsRecall(state) && (state.isAdded || asked.kind === "call");
	return { recalledBy: hasTool ? state.recallName : recallInShell(recallCommand).by };
}
