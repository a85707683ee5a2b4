import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Archive } from "../archive/archive.ts";
import { isFromOwnPage, isLoopback, listen } from "../http/address.ts";
import type { Log } from "../operations/edit-record.ts";
import type { Policy } from "../policy/schema.ts";
import { readBody } from "./body.ts";
import { createEditor, type Editor, type EditorOptions, mostEditedBytes } from "./editor.ts";
import { type Asked, connectTo, discard, passOn, type Upstream } from "./forward.ts";
import { createMemory } from "./memory.ts";
import { type Api, checkUpstreams, type Route, routeOf, type Upstreams } from "./routes.ts";

export interface ProxyOptions {
	/** On loopback; 0 takes a free one. */
	readonly port: number;
	/** Base URLs. A request for another API is refused. */
	readonly upstreams: Upstreams;
	readonly policy: Policy;
	/** Absent: results are masked without a reference, and cannot be recalled. */
	readonly archive?: Archive | undefined;
	/** Folder of what was decided for each conversation. Absent: it is forgotten when the proxy ends. */
	readonly memoryFolder?: string | undefined;
	/** The command that reads an original in a shell when a reference follows it. */
	readonly recallCommand?: string | undefined;
	/** Share of conversations that are never edited, from 0 to 1. */
	readonly holdout?: number | undefined;
	readonly log?: Log | undefined;
	/** In ms since 1970. */
	readonly now?: (() => number) | undefined;
	/** For tests, which inject faults and time. */
	readonly engine?: Pick<EditorOptions, "engine" | "worked"> | undefined;
}

/** Sums over all requests whose conversation may be edited. Bills are in prices of an input token. */
export interface ProxyTotals {
	readonly requests: number;
	readonly tokensSent: number;
	readonly tokensLeftOut: number;
	readonly billed: number;
	readonly billedUnedited: number;
}

/** Throws PalimpsestError `invalid_argument` for an upstream that is no base URL, and for a port in use. */
export async function startProxy(options: ProxyOptions): Promise<{
	readonly port: number;
	readonly totals: () => ProxyTotals;
	readonly close: () => Promise<void>;
}> {
	const bases = checkUpstreams(options.upstreams);
	const upstreams = new Map(Array.from(bases, ([api, base]) => [api, connectTo(base)]));
	const running = { options, upstreams, editor: await openEditor(options) };
	const server = createServer(serverOptions, (request, response) => {
		void handle(request, response, running).catch((error) => fail(response, error));
	});
	// Codex tries a WebSocket first, and turns to plain requests at once after this answer.
	server.on("upgrade", (_request, socket) => {
		socket.on("error", () => {});
		socket.end("HTTP/1.1 426 Upgrade Required\r\nUpgrade: HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
	});
	const port = await listen(server, { host: "127.0.0.1", port: options.port });
	return {
		port,
		totals: () => ({ requests: 0, tokensSent: 0, tokensLeftOut: 0, billed: 0, billedUnedited: 0 }),
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
}

const day = 24 * 3_600_000;

async function openEditor(options: ProxyOptions): Promise<Editor> {
	const { policy, archive, memoryFolder, recallCommand = "palimpsest recall", holdout = 0, log, engine } = options;
	const { now = Date.now } = options;
	const memory = createMemory({ folder: memoryFolder, now });
	await memory.sweep(policy.archive.max_age_days * day);
	const ofProcess = () => (process.cpuUsage().user + process.cpuUsage().system) / 1_000;
	const editing = {
		policy,
		archive,
		memory,
		now,
		recallCommand,
		holdout,
		archived: new Set<string>(),
		cuts: new Map(),
	};
	return createEditor({
		...editing,
		log,
		onFault: () => {},
		worked: engine?.worked ?? ofProcess,
		engine: engine?.engine,
	});
}

async function handle(request: IncomingMessage, response: ServerResponse, running: Running): Promise<void> {
	const refusal = refusalOf(request);
	if (refusal) return refuse(response, refusal);
	const { method = "GET", url: path = "/", headers, rawHeaders } = request;
	const route = routeOf({ method, path, headers }, running.options.upstreams);
	if (!route) return refuse(response, { status: 404, message: "This proxy has no upstream for this request." });
	const left = new AbortController();
	response.on("close", () => left.abort());
	const asked = { method, path, rawHeaders, signal: left.signal };
	const upstream = running.upstreams.get(route.api) as Upstream;
	const exchange = { response, route, upstream };
	if (route.kind === "passed" || isSigned(headers)) return pass({ ...asked, body: { stream: request } }, exchange);
	const read = await readBody(request, mostEditedBytes);
	if (read.kind === "too_large") return pass({ ...asked, body: { stream: read.stream } }, exchange);
	await exchangeEdited({ ...asked, body: read }, { ...exchange, running, encoding: headers["content-encoding"] });
}

/** A body whose digest stands in the headers goes out as it came. */
function isSigned(headers: IncomingMessage["headers"]): boolean {
	return ["content-digest", "digest", "content-md5", "x-amz-content-sha256"].some(
		(name) => headers[name] !== undefined,
	);
}

interface Exchange {
	readonly response: ServerResponse;
	readonly route: Route;
	readonly upstream: Upstream;
}

async function pass(asked: Asked, exchange: Exchange): Promise<void> {
	const answer = await askOrRefuse(asked, exchange);
	if (answer) await passOn(answer, exchange.response);
}

/** Answers 502 itself if the upstream cannot be reached. */
async function askOrRefuse(
	asked: Asked,
	{ response, route, upstream }: Exchange,
): Promise<IncomingMessage | undefined> {
	try {
		return await upstream.ask(asked);
	} catch (error) {
		if (asked.signal.aborted) return undefined;
		const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
		refuse(response, { status: 502, message: `The upstream of ${route.api} cannot be reached (${code}).` });
		return undefined;
	}
}

async function exchangeEdited(
	asked: Omit<Asked, "body"> & { readonly body: { readonly bytes: Buffer } },
	exchange: Exchange & { readonly running: Running; readonly encoding: string | undefined },
): Promise<void> {
	const { response, route, running, encoding } = exchange;
	const { editor } = running;
	const came = { ...asked, body: { bytes: asked.body.bytes, decoded: false } };
	const { text, facts } = await editor.edit(asked.body.bytes, { encoding, route });
	if (asked.signal.aborted) return;
	const sent = text === undefined ? came : { ...asked, body: { bytes: Buffer.from(text), decoded: true } };
	let answer = await askOrRefuse(sent, exchange);
	if (!answer) return;
	if (text !== undefined && answer.statusCode === 400) {
		// The upstream may have refused our edit, for example for a signature that is bound to what stood there.
		discard(answer);
		answer = await askOrRefuse(came, exchange);
		if (!answer) return;
		const isOurs = (answer.statusCode ?? 500) < 400;
		if (isOurs && facts?.conversation !== undefined)
			await editor.leaveAlone(facts.conversation, "its edits were refused");
	}
	await passOn(answer, response);
}

interface Refusal {
	readonly status: number;
	readonly message: string;
}

function refusalOf({ headers, headersDistinct, url = "/" }: IncomingMessage): Refusal | undefined {
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

/** In a shape that the clients of all three APIs can show. */
function refuse(response: ServerResponse, { status, message }: Refusal): void {
	const body = JSON.stringify({ type: "error", error: { type: "palimpsest_proxy", code: status, message } });
	response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
	response.end(body);
}

function fail(response: ServerResponse, _error: unknown): void {
	if (response.headersSent) response.destroy();
	else refuse(response, { status: 502, message: "The proxy failed by a defect of its own." });
}
