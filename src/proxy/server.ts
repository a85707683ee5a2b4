import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import type { Archive } from "../archive/archive.ts";
import { isFromOwnPage, isLoopback, listen } from "../http/address.ts";
import type { Log } from "../operations/edit-record.ts";
import type { Policy } from "../policy/schema.ts";
import { openCatalogue } from "../tokens/model-prices.ts";
import { readBody } from "./body.ts";
import { type Editing, editRequest, openEditing } from "./edit.ts";
import { createEditor, type Editor, type EditorOptions, mostEditedBytes } from "./editor.ts";
import { exchangeEdited, pass, refuse } from "./exchange.ts";
import { connectTo, type Upstream } from "./forward.ts";
import { createLedger, type Ledger, type ProxyTotals } from "./ledger.ts";
import { livePages } from "./live-pages.ts";
import { createMemory } from "./memory.ts";
import type { CachingRecord } from "./observed-caching.ts";
import { type Api, checkUpstreams, routeOf, type Upstreams } from "./routes.ts";

export interface ProxyOptions {
	/** On loopback; 0 takes a free one. */
	readonly port: number;
	/** Base URLs. A request for another API is refused. */
	readonly upstreams: Upstreams;
	readonly policy: Policy;
	/** Absent: results are masked without a reference, and cannot be recalled. */
	readonly archive?: Archive | undefined;
	/** Folder of what was decided for each conversation. Absent: beside an archive of files, else only in memory. */
	readonly memoryFolder?: string | undefined;
	/** The command that reads an original in a shell when a reference follows it. */
	readonly recallCommand?: string | undefined;
	/** Share of conversations that are never edited, from 0 to 1. */
	readonly holdout?: number | undefined;
	readonly log?: Log | undefined;
	/** In ms since 1970. */
	readonly now?: (() => number) | undefined;
	/** For tests, which inject faults and time. */
	readonly engine?: Partial<Pick<EditorOptions, "engine" | "worked">> | undefined;
}

/** Throws PalimpsestError `invalid_argument` for an upstream that is no base URL, and for a port in use. */
export async function startProxy(options: ProxyOptions): Promise<{
	readonly port: number;
	readonly totals: () => ProxyTotals;
	readonly close: () => Promise<void>;
}> {
	const bases = checkUpstreams(options.upstreams);
	const upstreams = new Map(Array.from(bases, ([api, base]) => [api, connectTo(base)]));
	const { log, archive, now = Date.now } = options;
	const ledger = createLedger({ now });
	const { policy, memoryFolder, recallCommand = "palimpsest recall", holdout = 0 } = options;
	const editing = await openEditing({ policy, archive, memoryFolder, recallCommand, holdout, now });
	const warmUp = warmUpOf(editing);
	// No request waits for the catalogue of models.
	await Promise.all([warmUp(), openCatalogue()]);
	const running = {
		options,
		upstreams,
		ledger,
		caching: editing.caching,
		editor: editorOf(editing, options, ledger),
		pages: livePages({ ledger, archive }),
	};
	const server = createServer(serverOptions, (request, response) => {
		void handle(request, response, running).catch((error) => {
			const name = error instanceof Error ? error.name : typeof error;
			log?.({
				level: "error",
				message: "A request failed by a defect of the proxy",
				data: { event: "defect", error: name },
			});
			fail(response);
		});
	});
	// Codex tries a WebSocket first, and turns to plain requests at once after this answer.
	server.on("upgrade", (_request, socket) => {
		socket.on("error", () => {});
		socket.end("HTTP/1.1 426 Upgrade Required\r\nUpgrade: HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
	});
	const port = await listen(server, { host: "127.0.0.1", port: options.port });
	const isWaiting = () => server.listening && ledger.totals().requests === 0;
	void warmUpFurther(() => running.editor.inTurn(warmUp), isWaiting);
	return {
		port,
		totals: ledger.totals,
		async close() {
			const closed = new Promise((resolve) => server.close(resolve));
			server.closeAllConnections();
			for (const upstream of upstreams.values()) upstream.close();
			await closed;
		},
	};
}

/** A model may think for long, and a client may send a large body slowly. */
const serverOptions = { requestTimeout: 0, keepAliveTimeout: 125_000, maxHeaderSize: 65_536 };

interface Running {
	readonly options: ProxyOptions;
	readonly upstreams: ReadonlyMap<Api, Upstream>;
	readonly editor: Editor;
	readonly ledger: Ledger;
	readonly caching: CachingRecord;
	readonly pages: ReturnType<typeof livePages>;
}

function editorOf(editing: Editing, { log, engine }: ProxyOptions, ledger: Ledger): Editor {
	const faults = { log, onFault: ledger.fault, onLeftAlone: () => ledger.count("left_alone") };
	return createEditor({ ...editing, ...faults, worked: engine?.worked ?? workedMs, engine: engine?.engine });
}

/** Edits a conversation that grows by a turn at each call. The first call reads the tokenizer and compiles the engine. */
function warmUpOf(editing: Editing): () => Promise<void> {
	const memory = createMemory({ folder: undefined, now: () => 0 });
	// Like the output of a search, since most outputs have paths, numbers and words.
	const output = (id: number) => {
		const line = (number: number) => `src/part-${id}/file-${number}.ts:${7 * number}: read value ${id * number} again`;
		return Array.from({ length: 120 }, (_, number) => line(number)).join("\n");
	};
	const turn = (id: number) => {
		const input = { command: `grep -rn value-${id} src/part-${id}` };
		return [
			{ role: "assistant", content: [{ type: "tool_use", id: `call_${id}`, name: "bash", input }] },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: `call_${id}`, content: output(id) }] },
		];
	};
	const messages = [{ role: "user", content: "Look." }, ...Array.from({ length: 30 }, (_, id) => turn(id)).flat()];
	const route = { api: "anthropic", kind: "edited" } as const;
	const cold = { ...editing, archive: undefined, memory, archived: new Map<string, number>(), cuts: new Map() };
	return async () => {
		messages.push(...turn(messages.length));
		await editRequest(JSON.stringify({ messages }), route, cold).catch(() => undefined);
	};
}

const warmUps = { count: 60, pauseMs: 5 };

/** Lets the engine be optimised until the first request: an agent program takes a second or more to send it. */
async function warmUpFurther(warmUp: () => Promise<void>, isWaiting: () => boolean): Promise<void> {
	for (let done = 0; done < warmUps.count; done += 1) {
		await setTimeout(warmUps.pauseMs);
		if (!isWaiting()) return;
		await warmUp();
	}
}

function workedMs(): number {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1_000;
}

async function handle(request: IncomingMessage, response: ServerResponse, running: Running): Promise<void> {
	const refusal = refusalOf(request);
	if (refusal) return refuse(response, refusal);
	const { method = "GET", url: path = "/", headers, rawHeaders } = request;
	const { options, upstreams, ledger, pages } = running;
	if (await pages(method, path, response)) return;
	const route = routeOf({ method, path, headers }, options.upstreams);
	if (!route) return refuse(response, { status: 404, message: "This proxy has no upstream for this request." });
	ledger.count("requests");
	const left = new AbortController();
	response.on("close", () => left.abort());
	const asked = { method, path, rawHeaders, signal: left.signal };
	const exchange = { ...running, response, route, upstream: upstreams.get(route.api) as Upstream };
	if (route.kind === "passed" || isSigned(headers)) return pass({ ...asked, body: { stream: request } }, exchange);
	const read = await readBody(request, mostEditedBytes).catch(() => undefined);
	// The client left.
	if (!read) return;
	if (read.kind === "too_large") return pass({ ...asked, body: { stream: read.stream } }, exchange);
	await exchangeEdited({ ...asked, body: read, encoding: headers["content-encoding"] }, exchange);
}

/** A body whose digest stands in the headers goes out as it came. */
function isSigned(headers: IncomingMessage["headers"]): boolean {
	return ["content-digest", "digest", "content-md5", "x-amz-content-sha256"].some(
		(name) => headers[name] !== undefined,
	);
}

function refusalOf({
	headers,
	headersDistinct,
	url = "/",
}: IncomingMessage): { readonly status: number; readonly message: string } | undefined {
	// Two Host headers: Node keeps the first, another program may use the last (RFC 9112, section 3.2).
	if ((headersDistinct.host?.length ?? 0) > 1) return { status: 400, message: "Expected one Host header." };
	const host = headers.host ?? "";
	const name = URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : "";
	// A web page that reaches this port by a name of its own (DNS rebinding).
	if (!isLoopback(name)) return { status: 403, message: "Expected the Host header to name this machine (loopback)." };
	if (!isFromOwnPage(headers)) {
		return { status: 403, message: "Requests from web pages of other origins are refused." };
	}
	if (!url.startsWith("/")) return { status: 400, message: "Expected a path; the upstreams are fixed." };
	return undefined;
}

function fail(response: ServerResponse): void {
	if (response.headersSent) response.destroy();
	else refuse(response, { status: 502, message: "The proxy failed by a defect of its own." });
}
