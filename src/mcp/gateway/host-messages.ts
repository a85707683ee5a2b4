import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../engine/conversation/json.ts";
import type { Path } from "../../engine/conversation/paths.ts";
import { spellingsOf, type ValueEdit, writeValues } from "../../formats/json-text/edit.ts";
import { objectOf, stringAt } from "../../formats/json-text/value.ts";
import { invalidParams } from "../answer.ts";
import type { outputChecker } from "../output-schema.ts";
import { noneKept } from "./allowance.ts";
import { addsRecall, defersTools, errorLine, type GatewayState, note } from "./gateway-state.ts";
import { askedBy, type Message, type ReadLine, readLine } from "./messages.ts";
import type { OpenRequest } from "./open-requests.ts";
import { isLeftOut } from "./tool-list.ts";

type Request = Message & { kind: "request" };

/** For a page of tools that the gateway asks for, while a result waits. */
const pagePatienceMs = 5_000;

/** Passes a line of the host to the server, without the messages that are for the gateway. */
export function fromHost(state: GatewayState, line: Buffer): void {
	const { toServer } = state.options;
	const read = readLine(line);
	if (read === undefined && !isUtf8(line)) state.hasUnread = true;
	if (!read) {
		toServer(line);
		return;
	}
	const kept = read.messages.filter(({ message, path }) => passesToServer(state, message, { line, read, path }));
	if (kept.length === read.messages.length) toServer(line, read);
	else if (kept.length > 0) {
		const others = read.messages.filter((one) => !kept.includes(one));
		const edits = others.map(({ path }): ValueEdit => ({ kind: "remove", path }));
		toServer(Buffer.from(writeValues(read.document, edits)), { ...read, messages: kept });
	}
}

interface Received {
	readonly line: Buffer;
	readonly read: ReadLine;
	readonly path: Path;
}

/** Remembers requests, and answers those that are for the gateway. */
function passesToServer(state: GatewayState, message: Message, received: Received): boolean {
	const { open, own, options } = state;
	if (message.kind === "notification" && message.method === "notifications/cancelled") {
		const { requestId: id } = message.params;
		if (typeof id !== "string" && typeof id !== "number") return true;
		open.take(id);
		return own.take(id) === undefined;
	}
	if (message.kind !== "request") return true;
	const asked = askedBy(message);
	state.lastMeta = message.isNewer ? objectOf(message.params._meta) : undefined;
	state.host = hostOf(message) ?? state.host;
	const bytes = received.line.length;
	const request = { id: message.id, asked, startedAt: performance.now(), bytes, kept: noneKept() };
	if (asked.kind === "call" && addsRecall(state) && asked.tool === state.recallName) {
		own.add(message.id, request);
		void answerRecall(state, message, request);
		return false;
	}
	if (asked.kind === "call" && defersTools(state) && asked.tool === state.moreName) {
		own.add(message.id, request);
		void answerMore(state, message, { ...received, request });
		return false;
	}
	if (asked.kind !== "call" || !isLeftOut(asked.tool, options.choice)) {
		if (asked.kind === "call") options.deferral?.called(asked.tool, { passed: false });
		open.add(message.id, request);
		return true;
	}
	const words = "Unknown tool: it is left out by palimpsest gateway (--only, --except).";
	options.toHost.line(errorLine(message.id, { code: invalidParams, message: words }));
	return false;
}

/** As a handshake says it, or in revision 2026-07-28 each request. */
function hostOf({ method, params, isNewer }: Request): string | undefined {
	if (method !== "initialize" && !isNewer) return undefined;
	const told = isNewer ? objectOf(params._meta)["io.modelcontextprotocol/clientInfo"] : params.clientInfo;
	return stringAt(objectOf(told), "name");
}

async function answerRecall(state: GatewayState, message: Request, request: OpenRequest): Promise<void> {
	const { layers, owner, owners = [owner], archive, log } = state.options;
	const { runRecall } = await import("./own-recall.ts");
	const given = message.params.arguments;
	const { result, code, report } = await runRecall({ arguments: given, layers, archive, owners, log });
	if (state.own.take(message.id) === undefined) return;
	const bytesOut = answerHost(state, message, result);
	note(state, request, { outcome: code === undefined ? "ok" : "error", code, report, bytesOut });
}

/** Returns the bytes of the answer. */
function answerHost({ options }: GatewayState, { id, isNewer }: Request, result: object): number {
	const answer = { jsonrpc: "2.0", id, result: isNewer ? { resultType: "complete", ...result } : result };
	const line = Buffer.from(JSON.stringify(answer));
	options.toHost.line(line);
	return line.length;
}

/** Tells the definitions of tools that the host does not list, or passes a call of one to the server, with all its fields. */
async function answerMore(
	state: GatewayState,
	message: Request,
	{ read, path, request }: Received & { readonly request: OpenRequest },
): Promise<void> {
	const { options, own, open, tools } = state;
	const { deferredTools, foundText, moreAsked } = await import("./deferred-tools.ts");
	const given = objectOf(message.params.arguments);
	const asked = moreAsked(given);
	const name = asked.kind === "call" ? asked.name : "";
	// The host may know the list from before, so that nobody here has seen it.
	const { tool } = await tools.find(name);
	const answer = (text: string, isError: boolean): void => {
		if (own.take(message.id) === undefined) return;
		const result = { content: [{ type: "text", text }], ...(isError && { isError }) };
		const bytesOut = answerHost(state, message, result);
		note(state, request, { outcome: isError ? "error" : "ok", bytesOut });
	};
	if (asked.kind === "find") return answer(foundText(asked.words, deferredTools(state)), false);
	if (!tool || isLeftOut(name, options.choice))
		return answer(`There is no tool ${JSON.stringify(name)}. Ask by query for the tools that there are.`, true);
	const wrong = await misfitsOf(tool, asked.given, request.bytes < smallCall);
	if (wrong.length > 0) {
		const places = wrong.map((pointer) => pointer || "/").join(", ");
		const schema = JSON.stringify(tool.inputSchema);
		return answer(`The arguments of ${name} do not fit its schema at ${places}. Its schema: ${schema}`, true);
	}
	if (own.take(message.id) === undefined) return;
	options.deferral?.called(name, { passed: true });
	const passed = askedBy({ method: "tools/call", params: { name, arguments: asked.given } });
	open.add(message.id, { ...request, asked: passed });
	const line = Buffer.from(passedCall(read, path, name));
	options.toServer(line, readLine(line));
}

/** The same request with the name and arguments of the other tool, as they are spelled. */
function passedCall({ document, messages }: ReadLine, path: Path, name: string): string {
	const at = [...path, "params", "arguments"];
	const inner = [...at, "call", "arguments"];
	const spelling = spellingsOf(document, [inner]).get(inner);
	const edits: ValueEdit[] = [
		{ kind: "replace", path: [...path, "params", "name"], replacement: name },
		{ kind: "replace", path: at, replacement: argumentsAt(document.value, inner), ...(spelling && { spelling }) },
	];
	const written = writeValues(document, edits);
	// In a batch the others have passed.
	return messages.length > 1 || path.length > 0
		? JSON.stringify((JSON.parse(written) as unknown[])[path[0] as number])
		: written;
}

function argumentsAt(value: unknown, path: Path): unknown {
	return (
		path.reduce<unknown>((at, segment) => (at as Record<string | number, unknown> | undefined)?.[segment], value) ?? {}
	);
}

/** In bytes. */
const smallCall = 10_000;

const checkers = new WeakMap<JsonObject, Promise<ReturnType<typeof outputChecker>>>();

/** Where arguments do not fit the schema of a tool. One that cannot be used is left to the server. */
async function misfitsOf(tool: JsonObject, given: unknown, isSmall: boolean): Promise<readonly string[]> {
	const checker =
		checkers.get(tool) ??
		import("../output-schema.ts").then((schemas) => schemas.outputChecker(objectOf(tool.inputSchema)));
	checkers.set(tool, checker);
	return (await checker)(given, isSmall) ?? [];
}

/** Asks the server in the name of the host, which does not get the answer. `undefined` if none comes in time. */
export function askServer(
	{ open, options, lastMeta }: GatewayState,
	method: string,
	params: JsonObject,
): Promise<JsonObject | undefined> {
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
		options.toServer(line, readLine(line));
	});
}
