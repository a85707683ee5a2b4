import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import type { Policy } from "../engine/policy/schema.ts";
import { openCatalogue } from "../formats/tokens/model-prices.ts";
import type { Log } from "../log.ts";
import { hostOfHeader, isFromOwnPage, isLoopback, listen } from "../operations/http/address.ts";
import { bodyStream, createBodyHold, mostReadAhead, paceBody } from "../operations/http/body.ts";
import type { Environment } from "../operations/http/network-proxy.ts";
import type { LargeTexts } from "../operations/large-texts.ts";
import type { Archive } from "../storage/archive/archive.ts";
import type { Figures } from "../storage/figures/store.ts";
import { createAccounts } from "./accounts.ts";
import { createCachingRecord } from "./billing/observed-caching.ts";
import { exchangeEdited, pass } from "./exchange.ts";
import { connectTo, type Upstream } from "./forward.ts";
import { mostEditedBytes } from "./host-request.ts";
import { createKeepWarm, type Later } from "./keep-warm.ts";
import { createKeys, type ProxyKeys } from "./keys.ts";
import { createLedger } from "./ledger.ts";
import { livePages } from "./live-pages.ts";
import { createProxyMetrics } from "./metrics.ts";
import type { PassedRequest } from "./passed-request.ts";
import { refuse } from "./refusal.ts";
import { checkUpstreams, recognised, routeOf, type UpstreamName, type Upstreams } from "./routes.ts";
import { inTime } from "./sending/archiving.ts";
import { type Editing, type Fault, type HeldLimits, openEditing } from "./sending/editing.ts";
import type { Serving } from "./serving.ts";
import type { ProxyTotals } from "./totals.ts";

interface ProxyOptions {
	/** On loopback. Absent: 127.0.0.1. */
	readonly host?: string | undefined;
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
	/** Takes no more requests. Answers that are under way have so many milliseconds to end; absent: none. */
	readonly close: (ending?: { readonly answersMs: number }) => Promise<void>;
}> {
	const bases = checkUpstreams(options.upstreams);
	const upstreams = new Map(Array.from(bases, ([name, base]) => [name, connectTo(base, options.network)]));
	const { log, archive, now = Date.now, keys = createKeys() } = options;
	const ledger = createLedger({ now, figures: options.figures, log });
	const {
		policy,
		memoryFolder,
		largeTexts,
		recallCommand = "palimpsest recall",
		holdout = 0,
		engine,
		refusesThreads = false,
		headersMilliseconds = 15_000,
	} = options;
	const onFault = (fault: Fault, reason: string): void => {
		ledger.fault(fault);
		const message = `No new decisions for a request: ${reason}`;
		log?.({ level: "warning", message, data: { event: "proxy_fault", fault } });
	};
	// No request waits for the catalogue of models.
	await openCatalogue();
	const editing = await openEditing({
		...{ policy, archive, memoryFolder, largeTexts, holdout, now, onFault },
		...engine,
	});
	const leavesWithConnection = options.keepWarm === "while_connected";
	const underWay = new Set<Promise<void>>();
	const inBackground = (work: Promise<void>): void => {
		underWay.add(work);
		void work.finally(() => underWay.delete(work));
	};
	const running: Running = {
		options,
		upstreams,
		ledger,
		log,
		editing,
		recallCommand,
		refusesThreads,
		accounts: createAccounts(editing.memoryFolder),
		caching: createCachingRecord(),
		inBackground,
		isEnding: false,
		bodies: createBodyHold({ bytesOfOne: mostEditedBytes, bytesOfAll: mostHeldBytes, ...engine?.bodies }),
		pages: livePages({
			ledger,
			archive,
			keys,
			metrics: options.metrics ? await createProxyMetrics(ledger) : undefined,
		}),
		keepWarm:
			options.keepWarm && createKeepWarm({ ledger, renewed: editing.memory.called, log, now, later: options.later }),
		leavesWithConnection,
	};
	const connectionsCheckingInterval = Math.min(5_000, headersMilliseconds);
	const keepAliveTimeout = leavesWithConnection ? longestPauseMs : serverOptions.keepAliveTimeout;
	const timeouts = { headersTimeout: headersMilliseconds, connectionsCheckingInterval, keepAliveTimeout };
	const server = createServer({ ...serverOptions, ...timeouts }, (request, response) => {
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
	});
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
	const port = await listen(server, { host: options.host ?? "127.0.0.1", port: options.port });
	const settled = async (): Promise<void> => {
		while (underWay.size > 0) await Promise.allSettled(underWay);
	};
	return {
		port,
		totals: ledger.totals,
		settled,
		async close({ answersMs } = { answersMs: 0 }) {
			running.isEnding = true;
			const closed = new Promise((resolve) => server.close(resolve));
			server.closeIdleConnections();
			if (answersMs > 0) await inTime(settled(), answersMs);
			for (const socket of sockets) if (!running.pages.holds(socket)) socket.destroy();
			running.keepWarm?.close();
			clearInterval(resting);
			for (const upstream of upstreams.values()) upstream.close();
			// The originals of the last results are being written, and the last bill is entered.
			await inTime(settled(), longestEndMs);
			await inTime(running.pages.end(), longestEndMs);
			await largeTexts?.close();
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

interface Running extends Serving {
	readonly options: ProxyOptions;
	readonly upstreams: ReadonlyMap<UpstreamName, Upstream>;
	readonly pages: ReturnType<typeof livePages>;
	readonly bodies: ReturnType<typeof createBodyHold>;
	isEnding: boolean;
}

async function handle(request: IncomingMessage, response: ServerResponse, running: Running): Promise<void> {
	const refusal = refusalOf(request);
	if (refusal) return refuse(response, { ...refusal, upstream: upstreamMeantBy(request) });
	const { method = "GET", url: path = "/", headers, rawHeaders } = request;
	const { options, upstreams, ledger, pages, isEnding } = running;
	if (await pages.answer(request, response)) return;
	const route = routeOf({ method, path, headers }, options.upstreams);
	if (!route) {
		const message = "It has no upstream for this request.";
		return refuse(response, { status: 404, message, upstream: upstreamMeantBy(request) });
	}
	if (isEnding) {
		response.setHeader("Connection", "close");
		const message = "It is ending, and takes no more requests.";
		return refuse(response, { status: 503, message, upstream: route.upstream, mayRetry: true });
	}
	ledger.count("requests");
	const left = new AbortController();
	response.on("close", () => left.abort());
	const asked = { method, path, rawHeaders, signal: left.signal };
	const exchange = { ...running, response, route, upstream: upstreams.get(route.upstream) as Upstream };
	const passStream = (stream: Readable, undecided: PassedRequest["undecided"]) =>
		pass({ ...asked, body: { stream } }, exchange, undecided).finally(() => void stream.destroy());
	const undecided = route.kind !== "passed" && isSigned(headers) ? "signed" : undefined;
	if (route.kind === "passed" || undecided) return passStream(bodyStream(request), undecided);
	const read = await running.bodies.read(request).catch(() => undefined);
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

function refusalOf(request: IncomingMessage): RefusedByForm | undefined {
	const { headers, headersDistinct, url = "/" } = request;
	// Two Host headers: Node keeps the first, another program may use the last (RFC 9112, section 3.2).
	if ((headersDistinct.host?.length ?? 0) > 1) return { status: 400, message: "Expected one Host header." };
	const host = hostOfHeader(headers.host ?? "");
	// A web page that reaches this port by a name of its own (DNS rebinding).
	if (host === undefined || !isLoopback(host))
		return { status: 403, message: "Expected the Host header to name this machine (loopback)." };
	if (!isFromOwnPage(headers)) {
		return { status: 403, message: "Requests from web pages of other origins are refused." };
	}
	if (!url.startsWith("/")) return { status: 400, message: "Expected a path; the upstreams are fixed." };
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

/** Whose clients read the answer to a request that may have no upstream here. */
function upstreamMeantBy({ method = "GET", url: path = "/", headers }: IncomingMessage): UpstreamName {
	return recognised({ method, path, headers }).upstream;
}

function fail(request: IncomingMessage, response: ServerResponse): void {
	if (response.headersSent) return void response.destroy();
	const message = "It failed because of a defect in it.";
	refuse(response, { status: 502, message, upstream: upstreamMeantBy(request) });
}
