import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import type { Policy, PolicyLayer } from "../../engine/policy/schema.ts";
import type { Originals } from "../../engine/policy/wordings.ts";
import { ownTools } from "../../engine/truncation/shown-whole.ts";
import { PalimpsestError } from "../../errors.ts";
import { type ValueEdit, writeValues } from "../../formats/json-text/edit.ts";
import type { TextDocument } from "../../formats/json-text/read.ts";
import { objectOf, stringAt } from "../../formats/json-text/value.ts";
import type { CallEnd, Log, OnCallEnd } from "../../log.ts";
import { recallInShell } from "../../proxy/recall-hint.ts";
import type { ArchiveSource } from "../../storage/archive/open.ts";
import { invalidParams } from "../answer.ts";
import { noneKept } from "./allowance.ts";
import { createCutPlanner } from "./cut-planner.ts";
import { createKnownTools } from "./known-tools.ts";
import { type Asked, askedBy, type Message, type ReadLine, type RequestId, readLine } from "./messages.ts";
import { createOpenRequests, type OpenRequest } from "./open-requests.ts";
import type { HostOutput } from "./output.ts";
import { seenChars, showsStructure, sizesOf } from "./result-texts.ts";
import { createTasks, hasEnded } from "./tasks.ts";
import { isLeftOut, planToolList, type ToolChoice } from "./tool-list.ts";

/** Names of the added tool; the other one if the server has a tool of the usual name. */
const recallNames = { usual: "recall_original", otherwise: "palimpsest_recall_original" } as const;

export interface GatewayOptions {
	readonly policy: Policy;
	readonly layers: readonly PolicyLayer[];
	readonly maxTokens?: number | undefined;
	readonly archive: ArchiveSource | undefined;
	/** A name of the server, the same in every run: its originals are archived under it. */
	readonly owner: string;
	readonly choice: ToolChoice;
	/**
	 * How a model reads an original: by a tool that the gateway adds, by the tool of our own server, which the host has too, or
	 * by a command.
	 */
	readonly recall: "tool" | "server" | "command";
	/** `palimpsest recall`, with the archive's name. */
	readonly recallCommand: string;
	readonly toHost: HostOutput;
	/** `read` are the messages of the line; absent if it is not JSON. */
	readonly toServer: (line: Buffer, read?: ReadLine) => void;
	readonly log: Log;
	/** Absent if it has no reader. */
	readonly onCallEnd?: OnCallEnd | undefined;
	/** Gets the characters of a result that is cut. */
	readonly onCut?: ((chars: { readonly before: number; readonly after: number }) => void) | undefined;
}

export type Gateway = ReturnType<typeof createGateway>;

interface Answer {
	/** Of the message. */
	readonly path: Path;
	readonly result: JsonObject | undefined;
	readonly request: OpenRequest;
}

type InLine = Pick<Cuttable, "bytes" | "document">;

/** A result that may be cut, at its own path, and the request that asked for it. */
interface Cuttable {
	readonly path: Path;
	readonly result: JsonObject;
	readonly request: OpenRequest;
	/** Of its message. */
	readonly bytes: number;
	readonly document: TextDocument;
}

/** The edits of an answer. `onWritten` gets the bytes of the message with all edits. */
interface Change {
	readonly edits: readonly ValueEdit[];
	readonly onWritten?: (bytes: number) => void;
}

/** How a call ended, as far as it is known where it ends. */
interface End extends Pick<CallEnd, "outcome" | "code" | "report" | "bytesOut"> {
	/** A result that passes unchanged. */
	readonly result?: JsonObject | undefined;
}

/** As the SDKs number it. */
const connectionClosed = -32_000;

const longestName = 128;
/** For a page of tools that the gateway asks for, while a result waits. */
const pagePatienceMs = 5_000;

/**
 * Passes the messages between a host and a server, to the byte. It reads the answers to `tools/list`, `tools/call`,
 * `resources/read` and those with the result of a task, changes them in place, and answers calls of the tool that it adds.
 */
export function createGateway(options: GatewayOptions) {
	const { policy, archive, choice, toHost, toServer, log, onCallEnd } = options;
	const open = createOpenRequests();
	/** Calls of the added tool. */
	const own = createOpenRequests();
	const tasks = createTasks<OpenRequest>();
	/** Whether the host has sent what is not read here, so that an answer with any id may be for it. */
	let hasUnread = false;
	/** What the last request says of the host, in revision 2026-07-28. */
	let lastMeta: JsonObject | undefined;
	/** The name that the host gives itself. */
	let host = "";
	const tools = createKnownTools((page) => askServer("tools/list", page));
	let addedName: string = recallNames.usual;
	let isAdded = false;
	const addsTool = options.recall === "tool" && archive !== undefined;
	/** No text has more characters than its message has bytes, and no token is shorter than a byte. */
	const longestWhole = options.maxTokens ?? policy.truncate.max_tokens ?? policy.truncate.max_chars;
	const planOf = createCutPlanner({ ...options, tools });

	return {
		fromHost(line: Buffer): void {
			const read = readLine(line);
			if (read === undefined && !isUtf8(line)) hasUnread = true;
			const kept = read?.messages.filter(({ message }) => passesToServer(message, line.length));
			if (!read || !kept || kept.length === read.messages.length) toServer(line, read);
			else if (kept.length > 0) {
				const others = read.messages.filter((one) => !kept.includes(one));
				const edits = others.map(({ path }): ValueEdit => ({ kind: "remove", path }));
				toServer(Buffer.from(writeValues(read.document, edits)), { ...read, messages: kept });
			}
		},
		/** A message of the host has passed unread. */
		unreadFromHost(): void {
			hasUnread = true;
		},
		fromServer(line: Buffer): void {
			const read = readLine(line);
			const { changes, dropped } = changesOf(read, line.length);
			if (read === undefined || changes.length + dropped.length === 0) toHost.line(line);
			// An answer that nobody waits for could be taken for another one.
			else if (dropped.length < read.messages.length) {
				const edits = dropped.map((path): ValueEdit => ({ kind: "remove", path }));
				toHost.line(edited(line, read, [...changes, Promise.resolve({ edits })]));
			}
		},
		/** Answers every request that still waits: no answer will come. */
		end(reason: string): void {
			for (const request of [...open.takeAll(), ...own.takeAll()]) fail(request, connectionClosed, reason);
		},
		/** The server cannot be asked this. */
		refuse(id: RequestId, message: string, code = connectionClosed): void {
			const request = open.take(id);
			if (request) fail(request, code, message);
		},
		isOpen: (id: RequestId): boolean => open.has(id),
		/** As the server has listed it. */
		toolNamed: (name: string) => tools.get(name),
	};

	function fail({ id, onAnswer }: OpenRequest, code: number, message: string): void {
		if (onAnswer) onAnswer(undefined);
		else toHost.line(errorLine(id, { code, message }));
	}

	/** The edits of the messages in a line, and those that are for nobody. */
	function changesOf(read: ReadLine | undefined, bytes: number) {
		const changes: Promise<Change>[] = [];
		const dropped: Path[] = [];
		if (!read) return { changes, dropped };
		for (const { path, message } of read.messages) {
			if (message.kind === "notification") {
				const change = changeOfNotification(message, { path, bytes, document: read.document });
				if (change) changes.push(change);
			}
			if (message.kind !== "response") continue;
			const request = message.id === undefined ? undefined : open.take(message.id);
			if (request?.onAnswer) request.onAnswer(message.result);
			if (request?.onAnswer || (request === undefined && !hasUnread)) dropped.push(path);
			else if (request) {
				const change = changeOf({ path, result: message.result, request }, { bytes, document: read.document });
				if (change) changes.push(change);
			}
		}
		return { changes, dropped };
	}

	function changeOfNotification(
		{ method, params }: Message & { kind: "notification" },
		{ path, ...line }: Pick<Cuttable, "path"> & InLine,
	): Promise<Change> | undefined {
		if (method === "notifications/tools/list_changed") tools.changed();
		if (method !== "notifications/tasks" && method !== "notifications/tasks/status") return undefined;
		return changeOfState(params, { path: [...path, "params"], taskId: String(params.taskId), ...line });
	}

	/** Remembers requests, and answers those that are for the gateway. */
	function passesToServer(message: Message, bytes: number): boolean {
		if (message.kind === "notification" && message.method === "notifications/cancelled") {
			const { requestId: id } = message.params;
			if (typeof id !== "string" && typeof id !== "number") return true;
			open.take(id);
			return own.take(id) === undefined;
		}
		if (message.kind !== "request") return true;
		const asked = askedBy(message);
		lastMeta = message.isNewer ? objectOf(message.params._meta) : undefined;
		host = hostOf(message) ?? host;
		const request = { id: message.id, asked, startedAt: performance.now(), bytes, kept: noneKept() };
		if (asked.kind === "call" && isOwnTool(asked.tool)) {
			own.add(message.id, request);
			void answerRecall(message, request);
			return false;
		}
		if (asked.kind !== "call" || !isLeftOut(asked.tool, choice)) {
			open.add(message.id, request);
			return true;
		}
		const words = "Unknown tool: it is left out by palimpsest gateway (--only, --except).";
		toHost.line(errorLine(message.id, { code: invalidParams, message: words }));
		return false;
	}

	/** Asks the server in the name of the host, which does not get the answer. `undefined` if none comes in time. */
	function askServer(method: string, params: JsonObject): Promise<JsonObject | undefined> {
		const id = `palimpsest-${randomUUID()}`;
		const { progressToken: _, ...meta } = lastMeta ?? {};
		const message = { jsonrpc: "2.0", id, method, params: { ...params, ...(lastMeta && { _meta: meta }) } };
		return new Promise((resolve) => {
			const patience = setTimeout(() => {
				open.take(id);
				resolve(undefined);
			}, pagePatienceMs);
			const onAnswer = (result: JsonObject | undefined): void => {
				clearTimeout(patience);
				resolve(result);
			};
			const sent = { id, asked: { kind: "other" }, startedAt: 0, bytes: 0, kept: noneKept(), onAnswer } as const;
			open.add(id, sent);
			const line = Buffer.from(JSON.stringify(message));
			toServer(line, readLine(line));
		});
	}

	function isOwnTool(name: string): boolean {
		return addsTool && name === addedName;
	}

	async function answerRecall(message: Message & { kind: "request" }, request: OpenRequest): Promise<void> {
		const { id, params, isNewer } = message;
		const { runRecall } = await import("./own-recall.ts");
		const { layers, owner } = options;
		const { result, code, report } = await runRecall({ arguments: params.arguments, layers, archive, owner, log });
		if (own.take(id) === undefined) return;
		const answer = { jsonrpc: "2.0", id, result: isNewer ? { resultType: "complete", ...result } : result };
		const line = Buffer.from(JSON.stringify(answer));
		toHost.line(line);
		note(request, { outcome: code === undefined ? "ok" : "error", code, report, bytesOut: line.length });
	}

	/** `undefined` for an answer that passes unchanged. */
	function changeOf({ path: message, result, request: answered }: Answer, line: InLine): Promise<Change> | undefined {
		const { asked } = answered;
		const request = asked.kind === "task" ? tasks.requestOf(asked.taskId) : answered;
		if (request === undefined || asked.kind === "other") return undefined;
		if (result === undefined) {
			if (request.asked.kind === "call") note(request, { outcome: "error", bytesOut: line.bytes });
			return undefined;
		}
		const path = [...message, "result"];
		if (asked.kind === "tool_list") return changeToolList(result, { path, isFirstPage: asked.isFirstPage });
		if (asked.kind === "task") {
			if (asked.inState) return changeOfState(result, { path, taskId: asked.taskId, ...line });
			tasks.end(asked.taskId);
		} else tasks.begin(result, request);
		return cut({ path, result, request, ...line });
	}

	/** The state of a task that has ended holds its result. */
	function changeOfState(
		state: JsonObject,
		{ path, taskId, ...line }: Pick<Cuttable, "path"> & InLine & { readonly taskId: string },
	): Promise<Change> | undefined {
		const request = tasks.requestOf(taskId);
		const { result } = state;
		if (request === undefined || !hasEnded(state)) return undefined;
		tasks.end(taskId);
		return isJsonObject(result) ? cut({ path: [...path, "result"], result, request, ...line }) : undefined;
	}

	function changeToolList(
		result: JsonObject,
		{ path, isFirstPage }: { readonly path: Path; readonly isFirstPage: boolean },
	): Promise<Change> | undefined {
		tools.listed(result, isFirstPage);
		addedName = tools.get(recallNames.usual) ? recallNames.otherwise : recallNames.usual;
		// Some servers write null where there is no other page.
		const isLastPage = (result.nextCursor ?? undefined) === undefined;
		if (!addsTool || !isLastPage) {
			const edits = planToolList(result, { path, choice });
			return edits.length === 0 ? undefined : Promise.resolve({ edits });
		}
		isAdded = true;
		return import("./own-recall.ts").then(({ recallDefinition }) => ({
			edits: planToolList(result, { path, choice, added: recallDefinition(addedName) }),
		}));
	}

	function cut({ path, result, request, bytes, document }: Cuttable): Promise<Change> | undefined {
		const name = nameOf(request.asked);
		if (bytes <= longestWhole || ownTools.test(name)) {
			note(request, { outcome: outcomeOf(result), bytesOut: bytes, result });
			return undefined;
		}
		const noteEnd = (report?: CallEnd["report"]) => (bytesOut: number) =>
			note(request, { outcome: outcomeOf(result), bytesOut, ...(report ? { report } : { result }) });
		const how = {
			path,
			request,
			name,
			recall: recallOf(request.asked),
			document,
			showsStructure: showsStructure(host),
		};
		return planOf(result, how).then(
			({ edits, chars, structureKept }) => {
				if (structureKept !== undefined) noteStructure(name, structureKept);
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

	function recallOf(asked: Asked): Originals {
		if (archive === undefined) return "not_archived";
		if (!policy.archive.recall_hint) return "archived";
		if (options.recall === "server") return "recallable";
		// A host without tools may still read resources.
		const hasTool = addsTool && (isAdded || asked.kind === "call");
		return { recalledBy: hasTool ? addedName : recallInShell(options.recallCommand).by };
	}

	function noteStructure(name: string, chars: number): void {
		const message = `The structured content of ${name} stays whole (${chars} characters): no shorter form fits its schema`;
		log({ level: "warning", message, data: { event: "structure_kept", tool: name, chars } });
	}

	function note({ id, asked, startedAt, bytes }: OpenRequest, { result, ...end }: End): void {
		if (onCallEnd === undefined || asked.kind === "other" || asked.kind === "tool_list") return;
		const how = { showsStructure: showsStructure(host), hasFailed: end.outcome === "error" };
		const chars = result && seenChars(sizesOf(result), how);
		onCallEnd({
			tool: nameOf(asked).slice(0, longestName),
			request: id,
			milliseconds: performance.now() - startedAt,
			bytesIn: bytes,
			...(chars !== undefined && { report: { chars: { before: chars, after: chars } } }),
			...end,
		});
	}

	/** Never rejects. */
	async function edited(line: Buffer, read: ReadLine, changing: readonly Promise<Change>[]): Promise<Buffer> {
		try {
			const changes = await Promise.all(changing);
			const edits = changes.flatMap((change) => change.edits);
			const written = edits.length === 0 ? line : Buffer.from(writeValues(read.document, edits));
			for (const { onWritten } of changes) onWritten?.(written.length);
			return written;
		} catch (error) {
			const name = error instanceof Error ? error.name : typeof error;
			log({ level: "error", message: "A message passed unchanged", data: { event: "defect", error: name } });
			return line;
		}
	}
}

/** As a handshake says it, or in revision 2026-07-28 each request. */
function hostOf({ method, params, isNewer }: Message & { kind: "request" }): string | undefined {
	if (method !== "initialize" && !isNewer) return undefined;
	const told = isNewer ? objectOf(params._meta)["io.modelcontextprotocol/clientInfo"] : params.clientInfo;
	return stringAt(objectOf(told), "name");
}

const outcomeOf = ({ isError }: JsonObject) => (isError === true ? "error" : "ok");

const nameOf = (asked: Asked) => (asked.kind === "call" ? asked.tool : "resources/read");

export function errorLine(id: RequestId, error: { readonly code: number; readonly message: string }): Buffer {
	return Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, error }));
}
