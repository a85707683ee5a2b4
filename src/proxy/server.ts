import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { Policy } from "../engine/policy/schema.ts";
import { openCatalogue } from "../formats/tokens/model-prices.ts";
import type { Log } from "../log.ts";
import { hostOfHeader, isFromOwnPage, isLoopback, listen } from "../operations/http/address.ts";
import { bodyStream, createBodyHold, mostReadAhead, paceBody } from "../operations/http/body.ts";
import type { Environment } from "../operations/http/network-proxy.ts";
import { createReadiness } from "../operations/http/readiness.ts";
import type { LargeTexts } from "../operations/large-texts.ts";
import type { Archive } from "../storage/archive/archive.ts";
import type { Figures } from "../storage/figures/store.ts";
import { createAccounts } from "./accounts.ts";
import { createCachingRecord } from "./billing/observed-caching.ts";
import { type CallersRequest, readCallersRequest } from "./callers.ts";
import { createDiagnosis } from "./diagnosis.ts";
import { exchangeEdited, pass } from "./exchange.ts";
import { connectTo, type Upstream } from "./forward.ts";
import { mostEditedBytes } from "./host-request.ts";
import { createKeepWarm, type Later } from "./keep-warm.ts";
import { createKeys, type ProxyKeys } from "./keys.ts";
import { createLedger } from "./ledger.ts";
import { livePages, viewWithKey } from "./live-pages.ts";
import { createProxyMetrics } from "./metrics.ts";
import type { PassedRequest } from "./passed-request.ts";
import { refuse } from "./refusal.ts";
import { checkUpstreams, recognised, routeOf, type UpstreamName, type Upstreams } from "./routes.ts";
import { inTime } from "./sending/archiving.ts";
import { type Editing, type Fault, type HeldLimits, openEditing } from "./sending/editing.ts";
import type { Journal } from "./sending/journal.ts";
import type { Exchange, Serving, Tenant } from "./serving.ts";
import { type Callers, createTenants, type Tenants, tokenOfPageExpected, viewsOfPeople } from "./tenants.ts";
import { type ProxyTotals, totalsOf } from "./totals.ts";

interface ProxyOptions {
	/** On loopback, unless there are callers. Absent: 127.0.0.1. */
	readonly host?: string | undefined;
	/** Who may send requests, and what belongs to each; absent: one user. */
	readonly callers?: Callers | undefined;
	/** Certificate and key in PEM. Absent: plain HTTP. */
	readonly tls?: { readonly cert: string; readonly key: string } | undefined;
	/** 0 takes a free one. */
	readonly port: number;
	/** Base URLs. A request for another API is refused. */
	readonly upstreams: Upstreams;
	/** Variables of the network that win over those of this process, for the way to the upstreams. */
	readonly network?: Environment | undefined;
	readonly policy: Policy;
	/** Absent: results are masked without a reference, and cannot be recalled. */
	readonly archive?: Archive | undefined;
	/** Folder of the decisions for each conversation. Absent: next to an archive of files, else only in memory. */
	readonly memoryFolder?: string | undefined;
	/** Where the decisions are that other proxies share. Absent: in `memoryFolder`. It is closed with the proxy. */
	readonly journal?: Journal | undefined;
	/** The command that reads an original in a shell when a reference follows it. */
	readonly recallCommand?: string | undefined;
	/** Share of conversations that are never edited, from 0 to 1. */
	readonly holdout?: number | undefined;
	readonly log?: Log | undefined;
	/** In ms since 1970. */
	readonly now?: (() => number) | undefined;
	/** Of its pages and its clients. Absent: new ones, so that nobody sees its pages. */
	readonly keys?: ProxyKeys | undefined;
	/** Whether there are metrics for Prometheus. */
	readonly metrics?: boolean | undefined;
	/** Where each request is written for `palimpsest stats`; absent: nowhere. */
	readonly figures?: Figures | undefined;
	/** Answers Anthropic's threads with a refusal, after which the host sends its whole conversation. */
	readonly refusesThreads?: boolean | undefined;
	/**
	 * Sends a last request again before its cache expires, while the program is there: until the proxy is closed, or while the
	 * connection of that request is open.
	 */
	readonly keepWarm?: "until_closed" | "while_connected" | undefined;
	/** Asks Anthropic's API why its cache broke. */
	readonly diagnoses?: boolean | undefined;
	/** Cuts and counts large texts, until the proxy is closed. Absent: this thread does. */
	readonly largeTexts?: LargeTexts | undefined;
	/** For tests. */
	readonly later?: Later | undefined;
	/** The time that the headers of a request may take. */
	readonly headersMilliseconds?: number | undefined;
	/** For tests, which inject faults and time. */
	readonly engine?:
		| (Partial<Pick<Editing, "planner" | "worked">> & {
				readonly limits?: HeldLimits;
				readonly bodies?: Partial<Parameters<typeof createBodyHold>[0]>;
		  })
		| undefined;
}

/** Throws PalimpsestError `invalid_argument` for an upstream that is not a base URL, and for a port in use. */
export async function startProxy(options: ProxyOptions): Promise<{
	readonly port: number;
	readonly totals: () => ProxyTotals;
	/** Resolves when no request is still being planned or archived. */
	readonly settled: () => Promise<void>;
	/**
	 * Takes no more requests. Answers that are under way have so many milliseconds to end; absent: none. A balancer that asks whether
	 * requests can come has time to send them elsewhere before.
	 */
	readonly close: (ending?: { readonly answersMs: number; readonly noticeMs?: number }) => Promise<void>;
}> {
	const bases = checkUpstreams(options.upstreams);
	const upstreams = new Map(Array.from(bases, ([name, base]) => [name, connectTo(base, options.network)]));
	const { log, archive, now = Date.now, keys = createKeys() } = options;
	const {
		policy,
		memoryFolder,
		largeTexts,
		callers,
		tls,
		recallCommand = callers ? undefined : "palimpsest recall",
		holdout = 0,
		engine,
		refusesThreads = false,
		headersMilliseconds = 15_000,
	} = options;
	const onFault = (fault: Fault, reason: string): void => {
		own.ledger.fault(fault);
		const message = `No new decisions for a request: ${reason}`;
		log?.({ level: "warning", message, data: { event: "proxy_fault", fault } });
	};
	// No request waits for the catalogue of models.
	await openCatalogue();
	const editing = await openEditing({
		...{ policy, archive, memoryFolder, journal: options.journal, largeTexts, holdout, now, onFault },
		...engine,
	});
	const underWay = new Set<Promise<void>>();
	const inBackground = (work: Promise<void>): void => {
		underWay.add(work);
		void work.finally(() => underWay.delete(work));
	};
	const open = (figures: Figures | undefined) => {
		const ledger = createLedger({ now, figures, log });
		const renewed = editing.memory.called;
		const warm = { ledger, renewed, log, now, later: options.later };
		return { ledger, keepWarm: options.keepWarm && createKeepWarm(warm) };
	};
	const leavesWithConnection = options.keepWarm === "while_connected";
	const own: Tenant = {
		...open(options.figures),
		editing,
		person: "",
		owner: "",
		proof: { isGiven: true },
		underWay: 0,
	};
	const tenants = callers && createTenants({ callers, editing, open, now });
	const readiness = createReadiness({});
	const metrics = options.metrics ? await createProxyMetrics(tenants?.status ?? own.ledger.status) : undefined;
	const viewOf =
		callers && tenants
			? viewsOfPeople({ tenants, callers, keys, metrics })
			: viewWithKey({ ledger: own.ledger, archive, keys, metrics });
	const running: Running = {
		options,
		upstreams,
		log,
		own,
		tenants,
		recallCommand,
		refusesThreads,
		accounts: createAccounts(editing.memoryFolder, options.journal?.accounts),
		caching: createCachingRecord(),
		inBackground,
		isEnding: false,
		bodies: createBodyHold({ bytesOfOne: mostEditedBytes, bytesOfAll: mostHeldBytes, ...engine?.bodies }),
		pages: livePages({ keys, viewOf, readiness, expected: tenants && tokenOfPageExpected }),
		diagnosis: options.diagnoses ? createDiagnosis() : undefined,
		leavesWithConnection,
	};
	const connectionsCheckingInterval = Math.min(5_000, headersMilliseconds);
	const keepAliveTimeout = leavesWithConnection ? longestPauseMs : serverOptions.keepAliveTimeout;
	const timeouts = { headersTimeout: headersMilliseconds, connectionsCheckingInterval, keepAliveTimeout };
	const answerRequest = (request: IncomingMessage, response: ServerResponse): void => {
		paceBody(request);
		const work: Promise<void> = handle(request, response, running).catch((error) => {
			const name = error instanceof Error ? error.name : typeof error;
			log?.({
				level: "error",
				message: "A request failed because of a defect in the proxy",
				data: { event: "defect", error: name },
			});
			fail(request, response);
		});
		inBackground(work);
	};
	const server = tls
		? createTlsServer({ ...serverOptions, ...timeouts, ...tls }, answerRequest)
		: createServer({ ...serverOptions, ...timeouts }, answerRequest);
	const sockets = new Set<Socket>();
	server.on("connection", (socket: Socket) => {
		sockets.add(socket);
		socket.on("close", () => sockets.delete(socket));
	});
	// Codex tries a WebSocket first, and turns to plain requests at once after this answer.
	server.on("upgrade", (_request, socket) => {
		socket.on("error", () => {});
		socket.end("HTTP/1.1 426 Upgrade Required\r\nUpgrade: HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
	});
	const resting = setInterval(editing.histories.rest, restEveryMs).unref();
	const closeOpened = async (): Promise<void> => {
		clearInterval(resting);
		await tenants?.close();
		await largeTexts?.close();
		await editing.memory.close();
	};
	const port = await listen(server, { host: options.host ?? "127.0.0.1", port: options.port }).catch(async (error) => {
		// A connection to Redis would keep the process alive.
		await closeOpened();
		throw error;
	});
	const settled = async (): Promise<void> => {
		while (underWay.size > 0) await Promise.allSettled(underWay);
	};
	return {
		port,
		totals: () => (tenants ? totalsOf(tenants.books()) : own.ledger.totals()),
		settled,
		async close({ answersMs, noticeMs } = { answersMs: 0 }) {
			await readiness.beginShutdown(answersMs > 0 ? noticeMs : 0);
			running.isEnding = true;
			// Until then the proxy listens, to say that it ends.
			if (answersMs > 0) await inTime(settled(), answersMs);
			const closed = new Promise((resolve) => server.close(resolve));
			server.closeIdleConnections();
			for (const socket of sockets) if (!running.pages.holds(socket)) socket.destroy();
			own.keepWarm?.close();
			for (const upstream of upstreams.values()) upstream.close();
			// The originals of the last results are being written, and the last bill is entered.
			await inTime(settled(), longestEndMs);
			await inTime(running.pages.end(), longestEndMs);
			await closeOpened();
			server.closeAllConnections();
			await closed;
		},
	};
}

/** How often histories that nobody uses are let go. */
const restEveryMs = 20_000;

/** The time that the end of the proxy waits for its archive. */
const longestEndMs = 2_000;

/** Longer than pings keep a cache of an hour. */
const longestPauseMs = 3 * 3_600_000;

/** A model may think for long, and a client may send a large body slowly. */
const serverOptions = {
	requestTimeout: 0,
	keepAliveTimeout: 125_000,
	maxHeaderSize: 65_536,
	highWaterMark: mostReadAhead,
};

/** The limit of all bodies that arrive or are worked on. Past it the largest that still arrives passes unedited. */
const mostHeldBytes = 256 * 1024 * 1024;

interface Running extends Omit<Serving, "editing" | "ledger" | "keepWarm"> {
	readonly options: ProxyOptions;
	readonly upstreams: ReadonlyMap<UpstreamName, Upstream>;
	readonly pages: ReturnType<typeof livePages>;
	readonly bodies: ReturnType<typeof createBodyHold>;
	/** Of the only user. */
	readonly own: Tenant;
	readonly tenants: Tenants | undefined;
	isEnding: boolean;
}

async function handle(request: IncomingMessage, response: ServerResponse, running: Running): Promise<void> {
	const { options, upstreams, tenants, pages, isEnding } = running;
	const given = readCallersRequest(request, { isOfMany: tenants !== undefined });
	const meant = { method: request.method ?? "GET", path: given.path, headers: given.headers };
	const upstream = recognised(meant).upstream;
	const refusal = refusalOf(request, given, { isOfMany: tenants !== undefined });
	if (refusal) return refuse(response, { ...refusal, upstream });
	if (await pages.answer(request, response, given)) return;
	const caller = options.callers?.check.callerOf(given);
	if (caller && !("principal" in caller)) return refuse(response, { status: 401, message: caller.expected, upstream });
	const route = routeOf(meant, options.upstreams);
	if (!route) return refuse(response, { status: 404, message: "It has no upstream for this request.", upstream });
	if (isEnding) {
		response.setHeader("Connection", "close");
		const message = "It is ending, and takes no more requests.";
		return refuse(response, { status: 503, message, upstream, mayRetry: true });
	}
	const tenant = caller && tenants ? await tenants.of(caller) : running.own;
	const counted = tenant.counts?.begin(request);
	if (counted && !("end" in counted)) return refuse(response, { ...counted, upstream });
	const inBackground = (work: Promise<void>): void => {
		tenant.underWay += 1;
		const ended = work.finally(() => {
			tenant.underWay -= 1;
		});
		running.inBackground(ended);
	};
	const exchange = {
		...running,
		...tenant,
		inBackground,
		project: given.project,
		response,
		route,
		upstream: upstreams.get(route.upstream) as Upstream,
	};
	try {
		tenant.underWay += 1;
		await exchangeRead(request, given, exchange, running.bodies);
	} finally {
		tenant.underWay -= 1;
		counted?.end();
	}
}

async function exchangeRead(
	request: IncomingMessage,
	given: CallersRequest,
	exchange: Exchange,
	bodies: Running["bodies"],
): Promise<void> {
	const { response, route } = exchange;
	const { path, headers, rawHeaders } = given;
	exchange.ledger.count("requests");
	const left = new AbortController();
	response.on("close", () => left.abort());
	const asked = { method: request.method ?? "GET", path, rawHeaders, signal: left.signal };
	const passStream = (stream: Readable, undecided: PassedRequest["undecided"]) =>
		pass({ ...asked, body: { stream } }, exchange, undecided).finally(() => void stream.destroy());
	const undecided = route.kind !== "passed" && isSigned(headers) ? "signed" : undefined;
	if (route.kind === "passed" || undecided) return passStream(bodyStream(request), undecided);
	const read = await bodies.read(request).catch(() => undefined);
	// The client left.
	if (!read) return;
	if (read.kind !== "whole") return passStream(read.stream(), read.kind === "no_room" ? "no_room" : "large");
	try {
		await exchangeEdited({ ...asked, body: read, headers }, exchange);
	} finally {
		read.release();
	}
}

/** A body whose digest is in the headers is forwarded unedited, and so is one that AWS's signature covers. */
function isSigned(headers: IncomingMessage["headers"]): boolean {
	if (/^AWS4-/.test(headers.authorization ?? "")) return true;
	return ["content-digest", "digest", "content-md5", "x-amz-content-sha256"].some(
		(name) => headers[name] !== undefined,
	);
}

type RefusedByForm = Pick<Parameters<typeof refuse>[1], "status" | "message">;

function refusalOf(
	{ headers, headersDistinct }: IncomingMessage,
	{ path }: CallersRequest,
	{ isOfMany }: { readonly isOfMany: boolean },
): RefusedByForm | undefined {
	// Two Host headers: Node keeps the first, another program may use the last (RFC 9112, section 3.2).
	if ((headersDistinct.host?.length ?? 0) > 1) return { status: 400, message: "Expected one Host header." };
	const host = hostOfHeader(headers.host ?? "");
	// A web page that reaches this port by a name of its own (DNS rebinding). It has no token.
	if (isOfMany && host === undefined)
		return { status: 400, message: "Expected the Host header to be a host and a port." };
	if (!isOfMany && (host === undefined || !isLoopback(host)))
		return { status: 403, message: "Expected the Host header to name this machine (loopback)." };
	if (!isFromOwnPage(headers)) {
		return { status: 403, message: "Requests from web pages of other origins are refused." };
	}
	if (!path.startsWith("/")) return { status: 400, message: "Expected a path; the upstreams are fixed." };
	return framingRefusal(headers);
}

/** A body without the header that frames it would be read as the next request on the upstream's connection. */
function framingRefusal({
	connection = "",
	"transfer-encoding": encoding = "chunked",
}: IncomingMessage["headers"]): RefusedByForm | undefined {
	const options = connection.split(",").map((option) => option.trim().toLowerCase());
	const named = options.find((option) => option === "content-length" || option === "transfer-encoding");
	if (named !== undefined) return { status: 400, message: `Expected Connection not to name ${named}.` };
	if (encoding.trim().toLowerCase() === "chunked") return undefined;
	return { status: 501, message: "Expected Transfer-Encoding to be chunked alone." };
}

function fail(request: IncomingMessage, response: ServerResponse): void {
	if (response.headersSent) return void response.destroy();
	const message = "It failed because of a defect in it.";
	const { method = "GET", url: path = "/", headers } = request;
	// Whose clients read the answer.
	refuse(response, { status: 502, message, upstream: recognised({ method, path, headers }).upstream });
}
