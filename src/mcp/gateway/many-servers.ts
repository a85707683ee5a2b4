import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { valueAt } from "../../engine/conversation/paths.ts";
import { type ValueEdit, writeValues } from "../../formats/json-text/edit.ts";
import { objectOf, objectsOf, stringAt } from "../../formats/json-text/value.ts";
import { invalidParams } from "../answer.ts";
import { errorLine } from "./gateway-state.ts";
import { type Message, type ReadLine, type RequestId, readLine } from "./messages.ts";

/** A server of several behind one gateway. */
export interface ServerOfMany {
	/** Of its entry. */
	readonly name: string;
	readonly send: (line: Buffer, read: ReadLine | undefined) => void;
}

interface KnownServer extends ServerOfMany {
	/** Before the names of its tools and prompts. */
	readonly prefix: string;
	/** Requests of the host, and of the hub with what gets the answer. */
	readonly open: Map<RequestId, ((result: JsonObject | undefined) => void) | undefined>;
	/** What it has answered to the handshake; `undefined` before. */
	handshake: JsonObject | undefined;
	/** Why it answers no more. */
	ended: string | undefined;
	/** What the addresses of its templates begin with. */
	readonly templates: Set<string>;
}

interface Hub {
	readonly servers: readonly KnownServer[];
	readonly toHost: (line: Buffer) => void;
	/** Where tools, prompts, resources and tasks are: by kind and name as the host knows it. */
	readonly places: Map<string, { readonly server: KnownServer; readonly name: string }>;
	/** Requests of servers that the host has not answered. */
	readonly asked: Map<string, { readonly server: KnownServer; readonly id: RequestId }>;
	readonly version: string;
	count: number;
	hasShakenHands: boolean;
}

export type ManyServers = ReturnType<typeof createManyServers>;

const methodNotFound = -32_601;
const mostPages = 100;
/** A server that takes longer to start joins later. */
const handshakeMs = 30_000;

/**
 * Several servers as one, which speaks the revisions with a handshake. Tools and prompts have the name of their server before
 * theirs; all else passes as it is, to the one server that it is for. A server that ends takes no other along.
 */
export function createManyServers({
	servers,
	toHost,
	version,
}: {
	readonly servers: readonly ServerOfMany[];
	readonly toHost: (line: Buffer) => void;
	/** Of this package. */
	readonly version: string;
}) {
	const hub: Hub = {
		servers: servers.map((one, place) => ({
			...{
				...one,
				prefix: prefixAt(place, servers),
				open: new Map(),
				handshake: undefined,
				ended: undefined,
				templates: new Set<string>(),
			},
		})),
		toHost,
		places: new Map(),
		asked: new Map(),
		version,
		count: 0,
		hasShakenHands: false,
	};
	const serverNamed = (name: string) => hub.servers.find((one) => one.name === name) as KnownServer;
	return {
		fromHost(line: Buffer, read = readLine(line)): void {
			for (const { message, path } of read?.messages ?? []) {
				const isAlone = path.length === 0;
				const text = isAlone ? line : Buffer.from(JSON.stringify(valueAt(read?.document.value, path)));
				fromHost(
					hub,
					message,
					isAlone ? { line, read: read as ReadLine } : { line: text, read: readLine(text) as ReadLine },
				);
			}
		},
		fromServer: (name: string, line: Buffer) => fromServer(hub, serverNamed(name), line),
		isOpen: (name: string, id: RequestId) => serverNamed(name).open.has(id),
		/** Its open requests get an error; the others go on. */
		ended(name: string, reason: string): void {
			const server = serverNamed(name);
			server.ended ??= reason;
			for (const id of [...server.open.keys()]) refuse(hub, server, { id, message: reason });
		},
		/** The server of a tool. */
		serverOf: (tool: string) => hub.places.get(`tool ${tool}`)?.server.name,
	};
}

/** Names that are the same in the characters of a tool's name get a number. */
function prefixAt(place: number, servers: readonly ServerOfMany[]): string {
	const names = servers.map(({ name }) => name.replace(/[^\w-]+/g, "_"));
	const own = names[place] as string;
	const before = names.slice(0, place).filter((name) => name === own).length;
	return before === 0 ? `${own}_` : `${own}_${before + 1}_`;
}

interface Sent {
	readonly line: Buffer;
	readonly read: ReadLine;
}

function fromHost(hub: Hub, message: Message, sent: Sent): void {
	if (message.kind === "request") void answer(hub, message, sent);
	else if (message.kind === "response") answerServer(hub, message.id, sent);
	else if (message.kind === "notification") {
		const { requestId } = message.params;
		const isCancelled = message.method === "notifications/cancelled";
		for (const server of live(hub))
			if (!isCancelled || server.open.has(requestId as RequestId)) server.send(sent.line, sent.read);
	}
}

const live = ({ servers }: Hub) => servers.filter(({ ended }) => ended === undefined);

async function answer(hub: Hub, message: Message & { kind: "request" }, sent: Sent): Promise<void> {
	const { id, method, params } = message;
	const give = (result: JsonObject) => hub.toHost(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, result })));
	switch (method) {
		case "initialize":
			return give(await shakeHands(hub, params));
		case "ping":
			return give({});
		case "tools/list":
			return give({ tools: await listAll(hub, { method, key: "tools", kind: "tool" }) });
		case "prompts/list":
			return give({ prompts: await listAll(hub, { method, key: "prompts", kind: "prompt" }) });
		case "resources/list":
			return give({ resources: await listAll(hub, { method, key: "resources", kind: "resource" }) });
		case "resources/templates/list":
			return give({ resourceTemplates: await listAll(hub, { method, key: "resourceTemplates", kind: "template" }) });
		case "tasks/list":
			return give({ tasks: await listAll(hub, { method, key: "tasks", kind: "task" }) });
		case "logging/setLevel":
			await Promise.all(able(hub, "logging").map((server) => ask(hub, server, { method, params })));
			return give({});
		case "tools/call":
			return pass(hub, sent, { id, kind: "tool", name: String(params.name), at: ["params", "name"] });
		case "prompts/get":
			return pass(hub, sent, { id, kind: "prompt", name: String(params.name), at: ["params", "name"] });
		case "completion/complete": {
			const ref = objectOf(params.ref);
			if (ref.type === "ref/prompt")
				return pass(hub, sent, { id, kind: "prompt", name: String(ref.name), at: ["params", "ref", "name"] });
			return pass(hub, sent, { id, kind: "resource", name: String(ref.uri), at: [] });
		}
		case "resources/read":
		case "resources/subscribe":
		case "resources/unsubscribe":
			return pass(hub, sent, { id, kind: "resource", name: String(params.uri), at: [] });
		case "tasks/get":
		case "tasks/result":
		case "tasks/cancel":
			return pass(hub, sent, { id, kind: "task", name: String(params.taskId), at: [] });
		default:
			hub.toHost(
				errorLine(id, { code: methodNotFound, message: `Expected a method of several servers; got ${method}.` }),
			);
	}
}

/** The servers that offer something. */
const able = (hub: Hub, capability: string) =>
	live(hub).filter(({ handshake }) => handshake && isJsonObject(objectOf(handshake.capabilities)[capability]));

/** The result for the host, once all servers have answered; those that take too long join later. */
async function shakeHands(hub: Hub, params: JsonObject): Promise<JsonObject> {
	const shaken = live(hub).map(async (server) => {
		const result = await ask(hub, server, { method: "initialize", params });
		if (result === undefined) return;
		server.handshake = result;
		if (!hub.hasShakenHands) return;
		send(server, { jsonrpc: "2.0", method: "notifications/initialized" });
		for (const kind of ["tools", "prompts", "resources"])
			if (able(hub, kind).includes(server)) tell(hub, { method: `notifications/${kind}/list_changed` });
	});
	const late = new Promise<void>((resolve) => setTimeout(resolve, handshakeMs).unref());
	await Promise.race([Promise.all(shaken), late]);
	hub.hasShakenHands = true;
	const results = hub.servers.flatMap((server) => (server.handshake ? [{ server, result: server.handshake }] : []));
	const revisions = results
		.map(({ result }) => stringAt(result, "protocolVersion") ?? "")
		.filter(Boolean)
		.sort();
	const instructions = results.flatMap(({ server, result }) => {
		const text = stringAt(result, "instructions");
		return text === undefined ? [] : [`# ${server.name}\n${text}`];
	});
	return {
		protocolVersion: revisions[0] ?? params.protocolVersion,
		capabilities: merged(results.map(({ result }) => objectOf(result.capabilities))),
		serverInfo: { name: "palimpsest-gateway", version: hub.version },
		...(instructions.length > 0 && { instructions: instructions.join("\n\n") }),
	};
}

function merged(all: readonly JsonObject[]): JsonObject {
	const sum: Record<string, unknown> = {};
	for (const one of all) {
		for (const [key, value] of Object.entries(one))
			sum[key] = isJsonObject(value) ? merged([objectOf(sum[key]), value]) : sum[key] || value;
	}
	return sum;
}

const send = (server: KnownServer, message: JsonObject): void => {
	const line = Buffer.from(JSON.stringify(message));
	server.send(line, readLine(line));
};

const tell = (hub: Hub, message: JsonObject) => hub.toHost(Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message })));

/** The result of a request of the hub; `undefined` for an error. */
function ask(
	hub: Hub,
	server: KnownServer,
	{ method, params }: { readonly method: string; readonly params: JsonObject },
): Promise<JsonObject | undefined> {
	hub.count += 1;
	const id = `many-${hub.count}`;
	return new Promise((resolve) => {
		server.open.set(id, resolve);
		send(server, { jsonrpc: "2.0", id, method, params });
	});
}

interface Listing {
	readonly method: string;
	/** Of the list in the result, and of the capability. */
	readonly key: string;
	readonly kind: "tool" | "prompt" | "resource" | "template" | "task";
}

async function listAll(hub: Hub, listing: Listing): Promise<readonly JsonObject[]> {
	const capability = listing.key === "resourceTemplates" ? "resources" : listing.key;
	const lists = await Promise.all(
		able(hub, capability).map(async (server) => ({ server, items: await listOf(hub, server, listing) })),
	);
	// In the order of the servers, whichever answers first, so that the names are the same each time.
	return lists.flatMap(({ server, items }) => items.map((item) => named(hub, server, { item, kind: listing.kind })));
}

async function listOf(hub: Hub, server: KnownServer, { method, key }: Listing): Promise<readonly JsonObject[]> {
	const items: JsonObject[] = [];
	let cursor: string | undefined;
	for (let pages = 0; pages < mostPages; pages += 1) {
		const result = await ask(hub, server, { method, params: cursor === undefined ? {} : { cursor } });
		items.push(...objectsOf(result?.[key]));
		cursor = result && stringAt(result, "nextCursor");
		if (cursor === undefined) break;
	}
	return items;
}

/** An item by a name that the host can tell apart. */
function named(
	hub: Hub,
	server: KnownServer,
	{ item, kind }: { readonly item: JsonObject; readonly kind: Listing["kind"] },
): JsonObject {
	const isNamed = kind === "tool" || kind === "prompt";
	const name = stringAt(item, isNamed ? "name" : kind === "task" ? "taskId" : "uri") ?? "";
	if (kind === "template") server.templates.add(String(item.uriTemplate).replace(/\{.*/s, ""));
	const known = isNamed ? unusedName(hub, { server, kind, name }) : name;
	hub.places.set(`${kind} ${known}`, { server, name });
	return isNamed ? { ...item, name: known } : item;
}

/** The tool `hub_find` of a server `git` and the tool `find` of a server `git_hub` would have the same name. */
function unusedName(
	hub: Hub,
	{ server, kind, name }: { readonly server: KnownServer; readonly kind: Listing["kind"]; readonly name: string },
): string {
	const full = server.prefix + name;
	for (let count = 1; ; count += 1) {
		const known = count === 1 ? full : `${full}_${count}`;
		const place = hub.places.get(`${kind} ${known}`);
		if (!place || (place.server === server && place.name === name)) return known;
	}
}

interface Passed {
	readonly id: RequestId;
	readonly kind: "tool" | "prompt" | "resource" | "task";
	/** As the host knows it. */
	readonly name: string;
	/** Where the name is replaced by that of the server. */
	readonly at: readonly string[];
}

function pass(hub: Hub, { line, read }: Sent, { id, kind, name, at }: Passed): void {
	const place = hub.places.get(`${kind} ${name}`) ?? likelyPlace(hub, kind, name);
	if (!place) {
		const message = `Expected the ${kind} of a server behind this gateway; got ${JSON.stringify(name)}.`;
		hub.toHost(errorLine(id, { code: invalidParams, message }));
		return;
	}
	const { server } = place;
	server.open.set(id, undefined);
	if (server.ended !== undefined) refuse(hub, server, { id, message: server.ended });
	else if (at.length === 0) server.send(line, read);
	else {
		const edit: ValueEdit = { kind: "replace", path: at, replacement: place.name };
		const renamed = Buffer.from(writeValues(read.document, [edit]));
		server.send(renamed, readLine(renamed));
	}
}

/** A host may know a name from before, and the uri of a template is in no list. */
function likelyPlace(hub: Hub, kind: Passed["kind"], name: string) {
	if (kind === "resource") {
		const having = able(hub, "resources");
		const isOf = ({ templates }: KnownServer) => [...templates].some((start) => start !== "" && name.startsWith(start));
		const server = having.find(isOf) ?? having[0];
		return server && { server, name };
	}
	if (kind === "task") return undefined;
	const server = hub.servers.find(({ prefix }) => name.startsWith(prefix));
	return server && { server, name: name.slice(server.prefix.length) };
}

/** As if the server had answered so. */
function refuse(
	hub: Hub,
	server: KnownServer,
	{ id, message }: { readonly id: RequestId; readonly message: string },
): void {
	fromServer(hub, server, errorLine(id, { code: -32_000, message }));
}

function answerServer(hub: Hub, id: RequestId | undefined, { read }: Sent): void {
	const asked = hub.asked.get(String(id));
	if (!asked) return;
	hub.asked.delete(String(id));
	const line = Buffer.from(writeValues(read.document, [{ kind: "replace", path: ["id"], replacement: asked.id }]));
	asked.server.send(line, readLine(line));
}

function fromServer(hub: Hub, server: KnownServer, line: Buffer): void {
	const read = readLine(line);
	for (const { message, path } of read?.messages ?? []) {
		const isAlone = path.length === 0;
		const text = isAlone ? line : Buffer.from(JSON.stringify(valueAt(read?.document.value, path)));
		if (message.kind === "notification") hub.toHost(text);
		else if (message.kind === "request") {
			hub.count += 1;
			const id = `many-${hub.count}`;
			hub.asked.set(id, { server, id: message.id });
			const document = isAlone ? (read as ReadLine).document : (readLine(text) as ReadLine).document;
			hub.toHost(Buffer.from(writeValues(document, [{ kind: "replace", path: ["id"], replacement: id }])));
		} else if (message.kind === "response" && message.id !== undefined && server.open.has(message.id)) {
			const resolve = server.open.get(message.id);
			server.open.delete(message.id);
			const { taskId } = objectOf(message.result?.task);
			if (typeof taskId === "string") hub.places.set(`task ${taskId}`, { server, name: taskId });
			if (resolve) resolve(message.result);
			else hub.toHost(text);
		}
	}
}
