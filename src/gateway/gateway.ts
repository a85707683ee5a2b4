import type { ArchiveSource } from "../archive/open.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Path } from "../conversation/paths.ts";
import { PalimpsestError } from "../errors.ts";
import { type ValueEdit, writeValues } from "../json-text/edit.ts";
import { idAt, objectOf } from "../json-text/value.ts";
import type { CallEnd, Log, OnCallEnd } from "../log.ts";
import { invalidParams } from "../mcp/answer.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import type { Originals } from "../policy/wordings.ts";
import { recallInShell } from "../proxy/recall-hint.ts";
import { ownTools } from "../truncation/shown-whole.ts";
import { type Asked, askedBy, type Message, type ReadLine, type RequestId, readLine } from "./messages.ts";
import type { HostOutput } from "./output.ts";
import { charsOf } from "./result-texts.ts";
import { isLeftOut, listedTools, planToolList, type ToolChoice } from "./tool-list.ts";

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

interface OpenRequest {
	readonly id: RequestId;
	readonly asked: Asked;
	readonly startedAt: number;
	readonly bytes: number;
}

export type Gateway = ReturnType<typeof createGateway>;

interface Answer {
	readonly path: Path;
	readonly result: JsonObject | undefined;
	readonly request: OpenRequest;
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

const mostTasks = 1_000;
const longestName = 128;

/**
 * Passes the messages between a host and a server, to the byte. It reads the answers to `tools/list`, `tools/call`,
 * `tasks/result` and `resources/read`, changes them in place, and answers calls of the tool that it adds.
 */
export function createGateway(options: GatewayOptions) {
	const { policy, archive, choice, toHost, toServer, log, onCallEnd } = options;
	const open = new Map<string, OpenRequest>();
	/** Calls of the added tool. */
	const own = new Map<string, OpenRequest>();
	const tasks = new Map<string, Asked>();
	const tools = new Map<string, JsonObject>();
	let addedName: string = recallNames.usual;
	let isAdded = false;
	const addsTool = options.recall === "tool" && archive !== undefined;
	/** No text has more characters than its message has bytes, and no token is shorter than a byte. */
	const longestWhole = options.maxTokens ?? policy.truncate.max_tokens ?? policy.truncate.max_chars;
	/** Lines that the host has got, and whose answers are not yet read. */
	let passed: Buffer[] = [];

	return {
		fromHost(line: Buffer): void {
			readPassed();
			const read = readLine(line);
			const kept = read?.messages.filter(({ message }) => passesToServer(message, line.length));
			if (!read || !kept || kept.length === read.messages.length) toServer(line, read);
			else if (kept.length > 0) {
				const others = read.messages.filter((one) => !kept.includes(one));
				const edits = others.map(({ path }): ValueEdit => ({ kind: "remove", path }));
				toServer(Buffer.from(writeValues(read.document, edits)), { ...read, messages: kept });
			}
		},
		fromServer(line: Buffer): void {
			if (open.size + own.size === 0) toHost.line(line);
			else if (passesUnchanged(line)) {
				// The host works on it while it is read here.
				toHost.line(line);
				passed.push(line);
				queueMicrotask(readPassed);
			} else {
				const read = readLine(line);
				// Another answer would be taken for that of our tool.
				if (read?.messages.some(({ message }) => message.kind === "response" && own.has(keyOf(message.id)))) return;
				const changes = changesOf(read, line.length);
				toHost.line(read && changes.length > 0 ? edited(line, read, changes) : line);
			}
		},
		/** Answers every request that still waits: no answer will come. */
		end(reason: string): void {
			readPassed();
			const waiting = [...open.values(), ...own.values()];
			for (const { id } of waiting) toHost.line(errorLine(id, { code: connectionClosed, message: reason }));
			open.clear();
			own.clear();
		},
		/** The server cannot be asked this. */
		refuse(id: RequestId, message: string, code = connectionClosed): void {
			readPassed();
			if (open.delete(keyOf(id))) toHost.line(errorLine(id, { code, message }));
		},
		isOpen(id: RequestId): boolean {
			readPassed();
			return open.has(keyOf(id));
		},
		/** As the server has listed it. */
		toolNamed: (name: string) => tools.get(name),
	};

	function passesUnchanged(line: Buffer): boolean {
		if (line.length > longestWhole || own.size > 0) return false;
		for (const { asked } of open.values()) if (asked.kind === "tool_list") return false;
		return true;
	}

	function readPassed(): void {
		const lines = passed;
		passed = [];
		for (const line of lines) changesOf(readLine(line), line.length);
	}

	/** Changes of the answers in a line. Their requests are no longer open. */
	function changesOf(read: ReadLine | undefined, bytes: number): Promise<Change>[] {
		const answers = (read?.messages ?? []).flatMap(({ path, message }) => {
			if (message.kind !== "response") return [];
			const request = open.get(keyOf(message.id));
			open.delete(keyOf(message.id));
			return request ? [{ path, result: message.result, request }] : [];
		});
		return answers.flatMap((answer) => changeOf(answer, bytes) ?? []);
	}

	/** Remembers requests, and answers those that are for the gateway. */
	function passesToServer(message: Message, bytes: number): boolean {
		if (message.kind === "notification" && message.method === "notifications/cancelled") {
			const { requestId: id } = message.params;
			if (typeof id !== "string" && typeof id !== "number") return true;
			open.delete(keyOf(id));
			return !own.delete(keyOf(id));
		}
		if (message.kind !== "request") return true;
		const asked = askedBy(message);
		const request = { id: message.id, asked, startedAt: performance.now(), bytes };
		if (asked.kind === "call" && isOwnTool(asked.tool)) {
			own.set(keyOf(message.id), request);
			void answerRecall(message, request);
			return false;
		}
		if (asked.kind !== "call" || !isLeftOut(asked.tool, choice)) {
			open.set(keyOf(message.id), request);
			return true;
		}
		const words = "Unknown tool: it is left out by palimpsest gateway (--only, --except).";
		toHost.line(errorLine(message.id, { code: invalidParams, message: words }));
		return false;
	}

	function isOwnTool(name: string): boolean {
		return addsTool && name === addedName;
	}

	async function answerRecall(message: Message & { kind: "request" }, request: OpenRequest): Promise<void> {
		const { id, params, isNewer } = message;
		const { runRecall } = await import("./own-recall.ts");
		const { layers, owner } = options;
		const { result, code, report } = await runRecall({ arguments: params.arguments, layers, archive, owner, log });
		if (!own.delete(keyOf(id))) return;
		const answer = { jsonrpc: "2.0", id, result: isNewer ? { resultType: "complete", ...result } : result };
		const line = Buffer.from(JSON.stringify(answer));
		toHost.line(line);
		note(request, { outcome: code === undefined ? "ok" : "error", code, report, bytesOut: line.length });
	}

	/** `undefined` for an answer that passes unchanged. */
	function changeOf(answer: Answer, bytes: number): Promise<Change> | undefined {
		const { result, request } = answer;
		const asked = request.asked.kind === "task" ? tasks.get(request.asked.taskId) : request.asked;
		if (asked === undefined || asked.kind === "other") return undefined;
		if (result === undefined) {
			if (asked.kind === "call") note(request, { outcome: "error", bytesOut: bytes });
			return undefined;
		}
		if (asked.kind === "tool_list") return changeToolList(result, { ...answer, isFirstPage: asked.isFirstPage });
		rememberTask(result, asked);
		return cut(result, { answer, asked, bytes });
	}

	function rememberTask(result: JsonObject, asked: Asked): void {
		const taskId = idAt(objectOf(result.task), "taskId");
		if (taskId === undefined) return;
		tasks.set(taskId, asked);
		const [oldest = ""] = tasks.keys();
		if (tasks.size > mostTasks) tasks.delete(oldest);
	}

	function changeToolList(
		result: JsonObject,
		{ path, isFirstPage }: Pick<Answer, "path"> & { readonly isFirstPage: boolean },
	): Promise<Change> | undefined {
		if (isFirstPage) tools.clear();
		for (const [name, tool] of listedTools(result)) tools.set(name, tool);
		const isLastPage = result.nextCursor === undefined;
		const at = [...path, "result"];
		if (!addsTool || !isLastPage) {
			const edits = planToolList(result, { path: at, choice });
			return edits.length === 0 ? undefined : Promise.resolve({ edits });
		}
		addedName = tools.has(recallNames.usual) ? recallNames.otherwise : recallNames.usual;
		isAdded = true;
		return import("./own-recall.ts").then(({ recallDefinition }) => ({
			edits: planToolList(result, { path: at, choice, added: recallDefinition(addedName) }),
		}));
	}

	function cut(
		result: JsonObject,
		{ answer, asked, bytes }: { readonly answer: Answer; readonly asked: Asked; readonly bytes: number },
	): Promise<Change> | undefined {
		const { request } = answer;
		const name = nameOf(asked);
		if (bytes <= longestWhole || ownTools.test(name)) {
			note(request, { outcome: outcomeOf(result), bytesOut: bytes, result });
			return undefined;
		}
		const noteEnd = (report?: CallEnd["report"]) => (bytesOut: number) =>
			note(request, { outcome: outcomeOf(result), bytesOut, ...(report ? { report } : { result }) });
		return planEdits(result, { answer, asked, name }).then(
			({ edits, chars, keepsStructure }) => {
				if (keepsStructure) noteStructure(name, chars.before);
				if (chars.after < chars.before) options.onCut?.(chars);
				return { edits, onWritten: noteEnd({ chars }) };
			},
			(error: unknown) => {
				const code = error instanceof PalimpsestError ? error.code : "internal";
				const message = `A result of ${name} passed whole: ${code}`;
				log({ level: "warning", message, data: { event: "passed_whole", tool: name, code } });
				return { edits: [], onWritten: noteEnd() };
			},
		);
	}

	async function planEdits(
		result: JsonObject,
		{ answer, asked, name }: { readonly answer: Answer; readonly asked: Asked; readonly name: string },
	) {
		const { planCut } = await import("./cut-result.ts");
		const { maxTokens, owner } = options;
		const focus = asked.kind === "call" ? asked.focus : asked.kind === "resource" ? asked.uri : "";
		const { outputSchema } = tools.get(name) ?? {};
		const shared = { policy, maxTokens, owner, name, focus, recall: recallOf(asked) };
		const answered = { ...shared, outputSchema: isJsonObject(outputSchema) ? outputSchema : undefined };
		const path = [...answer.path, "result"];
		if (archive === undefined) return planCut(result, path, { ...answered, archive });
		return archive.use((opened) => planCut(result, path, { ...answered, archive: opened }));
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
		const message = `The structured content of ${name} stays whole (${chars} characters): cutting its strings is not enough`;
		log({ level: "warning", message, data: { event: "structure_kept", tool: name, chars } });
	}

	function note({ id, asked, startedAt, bytes }: OpenRequest, { result, ...end }: End): void {
		if (onCallEnd === undefined || asked.kind === "other" || asked.kind === "tool_list") return;
		const chars = result && charsOf(result);
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

const outcomeOf = ({ isError }: JsonObject) => (isError === true ? "error" : "ok");

const keyOf = (id: RequestId) => JSON.stringify(id);

function nameOf(asked: Asked): string {
	if (asked.kind === "call") return asked.tool;
	return asked.kind === "task" ? "tasks/result" : "resources/read";
}

export function errorLine(id: RequestId, error: { readonly code: number; readonly message: string }): Buffer {
	return Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, error }));
}
