import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PalimpsestError } from "../errors.ts";
import type { ReadinessCheck } from "../operations/http/readiness.ts";
import { livePage } from "../pages/live-page.ts";
import { escapeHtml } from "../pages/page.ts";
import { formatCount } from "../pages/replay-data.ts";
import type { Archive } from "../storage/archive/archive.ts";
import { version } from "../version.ts";
import type { CallersRequest } from "./callers.ts";
import { isSame, type ProxyKeys, pageCookie, pageKeysIn, proofOf } from "./keys.ts";
import type { Ledger } from "./ledger.ts";
import { billText, frozenText, keptWarmText, undecidedText, unknownUsageText } from "./ledger-text.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { isOwnUser } from "./peer.ts";
import type { ProxyStatus } from "./status.ts";

const base = "/palimpsest/";

/** No answer may be shown in a frame, stored, or guessed to be of another type. */
const headers = {
	"X-Content-Type-Options": "nosniff",
	"X-Frame-Options": "DENY",
	"Cache-Control": "no-store",
	"Referrer-Policy": "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
};

/** What a request for a page may see. */
export interface PageView {
	/** Its browser keeps it. */
	readonly key?: string | undefined;
	readonly status: (alone?: string) => ProxyStatus;
	readonly onEntry: Ledger["onEntry"];
	readonly archive: Archive | undefined;
	readonly metrics: ProxyMetrics | undefined;
}

/** `undefined` for a request whose key opens nothing. */
export type ViewOf = (request: IncomingMessage, given: CallersRequest) => Promise<PageView | undefined>;

/** The view of a proxy with one user: all, for the key of its pages. */
export function viewWithKey({
	ledger,
	archive,
	metrics,
	keys,
}: {
	readonly keys: ProxyKeys;
	readonly ledger: Ledger;
	readonly archive: Archive | undefined;
	readonly metrics?: ProxyMetrics | undefined;
}): ViewOf {
	const view = { status: ledger.status, onEntry: ledger.onEntry, archive, metrics, key: keys.page };
	return async (request) => {
		// Figures without texts are open to programs of this user, but not to what a browser of this user has open.
		const isForPrograms = /^\/palimpsest\/(?:status|metrics)(?:\?|$)/.test(request.url ?? "") && !isOfBrowser(request);
		const hasKey = pageKeysIn(request).some((one) => isSame(one, keys.page));
		return hasKey || (isForPrograms && (await isOwnUser(request.socket))) ? view : undefined;
	};
}

const keyExpected = "Expected the key of this page. `palimpsest proxy status` prints the address that has it.";

/**
 * Answers the proxy's own paths: `/palimpsest/` is a page that asks for `/palimpsest/status` again and again;
 * `/palimpsest/status` has the figures as JSON, with `?conversation=ID` the requests of that conversation alone, and waits
 * for the next entry where a client that knows the present figures prefers that;
 * `/palimpsest/originals/REF` an original as text; `/palimpsest/metrics`, if asked for, is for Prometheus. What each of these shows is
 * `viewOf` to say. `/palimpsest/healthz` says that the proxy runs, and proves which it is to a client that asks with
 * `?challenge=TEXT`; `/palimpsest/readyz` says whether requests can come. Both are also at the root, where balancers look. `answer`
 * resolves with false for others.
 */
export function livePages({
	keys,
	viewOf,
	readiness,
	expected = keyExpected,
}: {
	readonly keys: ProxyKeys;
	readonly viewOf: ViewOf;
	readonly readiness: ReadinessCheck;
	/** Tells a request without a view which key it needs. */
	readonly expected?: string | undefined;
}) {
	/** Sends each answer that is held until a request is entered. */
	const held = new Map<ServerResponse, () => void>();
	const statusBody = (view: PageView, alone: string | undefined) => {
		const body = `${JSON.stringify(view.status(alone))}\n`;
		return { body, tag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"` };
	};
	const hold = (response: ServerResponse, write: () => void, until: { seconds: number; view: PageView }): void => {
		const end = (): void => {
			clearTimeout(timer);
			held.delete(response);
			stop();
		};
		const send = (): void => {
			end();
			write();
		};
		const timer = setTimeout(send, 1_000 * until.seconds);
		const stop = until.view.onEntry(send);
		held.set(response, send);
		response.on("close", end);
	};
	const answerPage = async (request: IncomingMessage, response: ServerResponse, given: CallersRequest) => {
		const { method = "GET" } = request;
		const [asked = "", query = ""] = given.path.split("?", 2);
		const pathname = asked === "/healthz" || asked === "/readyz" ? `/palimpsest${asked}` : asked;
		if (pathname !== "/palimpsest" && !pathname.startsWith(base)) return false;
		const answer = (status: number, type: string, body: string, more: Readonly<Record<string, string>> = {}) => {
			const length = Buffer.byteLength(body);
			response.writeHead(status, {
				...headers,
				"Content-Type": `${type}; charset=utf-8`,
				"Content-Length": length,
				...more,
			});
			response.end(method === "HEAD" ? undefined : body);
			return true;
		};
		if (method !== "GET" && method !== "HEAD")
			return answer(405, "text/plain", "Expected GET.\n", { Allow: "GET, HEAD" });
		// The page asks for what is beside it.
		if (pathname === "/palimpsest") return answer(308, "text/plain", `${base}\n`, { Location: base });
		const rest = pathname.slice(base.length);
		if (rest === "healthz") {
			const challenge = new URLSearchParams(query).get("challenge");
			const proof = challenge === null ? {} : { proof: proofOf(keys, challenge) };
			const health = { status: "ok", version, pid: process.pid, ...proof };
			return answer(200, "application/json", `${JSON.stringify(health)}\n`);
		}
		if (rest === "readyz") {
			const found = await readiness.current();
			const body = found.ready ? { status: "ready" } : { status: "not_ready", reason: found.reason };
			return answer(found.ready ? 200 : 503, "application/json", `${JSON.stringify(body)}\n`);
		}
		const view = await viewOf(request, given);
		if (!view) {
			const error = expected;
			const [type, body] = rest === "status" ? ["application/json", JSON.stringify({ error })] : ["text/plain", error];
			return answer(401, type, `${body}\n`, { "WWW-Authenticate": 'Bearer realm="palimpsest"' });
		}
		const { archive, metrics, key } = view;
		if (rest === "status") {
			const alone = new URLSearchParams(query).get("conversation") ?? undefined;
			const known = request.headers["if-none-match"];
			const write = () => {
				const { body, tag } = statusBody(view, alone);
				if (known !== tag) return answer(200, "application/json", body, { ETag: tag });
				response.writeHead(304, { ...headers, ETag: tag }).end();
				return true;
			};
			const seconds = secondsToWait(request);
			if (seconds > 0 && known === statusBody(view, alone).tag) hold(response, write, { seconds, view });
			else write();
			return true;
		}
		if (rest === "metrics" && metrics)
			return answer(200, "text/plain", await metrics.text(), { "Content-Type": metrics.contentType });
		if (rest === "") {
			const status = view.status("");
			const { html, policy } = await livePage({ status, withoutScript: textOf(status) });
			const restricted = { "Content-Security-Policy": `${policy}; frame-ancestors 'none'` };
			const cookie = key === undefined ? {} : { "Set-Cookie": pageCookie(request, key) };
			return answer(200, "text/html", html, { ...restricted, ...cookie });
		}
		const ref = /^originals\/(?<ref>[A-Za-z0-9-]{1,40})$/.exec(rest)?.groups?.ref;
		if (ref === undefined || !archive) return answer(404, "text/plain", "Not found.\n");
		try {
			return answer(200, "text/plain", (await archive.get(ref)).text);
		} catch (error) {
			if (!(error instanceof PalimpsestError)) throw error;
			return answer(404, "text/plain", `${error.message}\n`);
		}
	};
	return {
		answer: answerPage,
		/** Whether an answer to this connection is held. */
		holds: (socket: Socket) => Array.from(held.keys()).some((response) => response.socket === socket),
		/** Sends the answers that are held, so that a page has the last figures. Resolves once they are sent. */
		async end(): Promise<void> {
			const sent = Array.from(held.keys(), (response) => new Promise((resolve) => response.on("close", resolve)));
			for (const send of held.values()) send();
			await Promise.all(sent);
		},
	};
}

/** Browsers send one of these with each request (Fetch Metadata; RFC 6454). Node's `fetch` sends `Sec-Fetch-Mode` alone. */
function isOfBrowser({ headers }: Pick<IncomingMessage, "headers">): boolean {
	return headers.origin !== undefined || headers["sec-fetch-site"] !== undefined;
}

const longestWait = 30;

/** Reads `Prefer: wait=20` (RFC 7240): the seconds that the answer may wait for an entry. */
function secondsToWait({ headers }: Pick<IncomingMessage, "headers">): number {
	const [, seconds = "0"] = /^wait=(\d{1,3})$/.exec(String(headers.prefer ?? "")) ?? [];
	return Math.min(longestWait, Number(seconds));
}

/** The figures for browsers that run no script. */
function textOf(status: ProxyStatus): string {
	const { edited, held_out: heldOut, requests, faults, undecided, kept_warm: keptWarm, conversations } = status;
	const faultText = Object.entries(faults).map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`);
	const lines = [
		`${requests.requests} requests, ${requests.edited} of them edited, since ${time(status.started)}. ${share(edited)}`,
		`Sent again in another form: ${requests.sent_again}. Faults: ${faultText.join(", ")}.`,
		...[
			...undecidedText(undecided),
			...frozenText(status.frozen_conversations),
			...keptWarmText(keptWarm),
			...unknownUsageText({ requests: status.unknown_usage, fields: status.unknown_usage_fields }),
		].map((text) => `${text}.`),
		...(heldOut.requests > 0 ? [`Held out, never edited: ${heldOut.requests} requests.`] : []),
		...conversations.map(
			(one) => `${one.model ?? one.api}, ${one.state.replaceAll("_", " ")}, ${time(one.last)}: ${share(one)}`,
		),
	];
	return lines.map((line) => `<p>${escapeHtml(line)}</p>`).join("\n");
}

function share(one: ProxyStatus["edited"]): string {
	return `Tokens sent ${formatCount(one.tokens_sent)}, left out ${formatCount(one.tokens_left_out)}. Billed ${billText(one)}.`;
}

function time(at: number): string {
	return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}
