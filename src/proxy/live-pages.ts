import type { ServerResponse } from "node:http";
import type { Archive } from "../archive/archive.ts";
import { PalimpsestError } from "../errors.ts";
import { escapeHtml, pageAsset, selfContainedPage } from "../pages/page.ts";
import { version } from "../version.ts";
import { type Ledger, mostDetailed, type ProxyStatus } from "./ledger.ts";
import { billText, frozenText, keptWarmText, undecidedText } from "./ledger-text.ts";
import type { ProxyMetrics } from "./metrics.ts";

const base = "/palimpsest/";
const secondsToRefresh = 5;

/** No answer may be shown in a frame, stored, or guessed to be of another type. */
const headers = {
	"X-Content-Type-Options": "nosniff",
	"X-Frame-Options": "DENY",
	"Cache-Control": "no-store",
	"Referrer-Policy": "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'",
};

/**
 * Answers the proxy's own paths: `/palimpsest/` is a page that reloads every few seconds, without a script;
 * `/palimpsest/status` the same as JSON; `/palimpsest/originals/REF` an original as text; `/palimpsest/healthz` says that
 * the proxy runs; `/palimpsest/metrics`, if asked for, is for Prometheus. Resolves with false for others.
 */
export function livePages({
	ledger,
	archive,
	metrics,
}: {
	readonly ledger: Ledger;
	readonly archive: Archive | undefined;
	readonly metrics?: ProxyMetrics | undefined;
}) {
	return async (method: string, path: string, response: ServerResponse): Promise<boolean> => {
		const [pathname = ""] = path.split("?", 1);
		if (pathname !== "/palimpsest" && !pathname.startsWith(base)) return false;
		const answer = (status: number, type: string, body: string, more: Readonly<Record<string, string>> = {}) => {
			const length = Buffer.byteLength(body);
			response.writeHead(status, {
				...headers,
				...more,
				"Content-Type": `${type}; charset=utf-8`,
				"Content-Length": length,
			});
			response.end(method === "HEAD" ? undefined : body);
			return true;
		};
		if (method !== "GET" && method !== "HEAD")
			return answer(405, "text/plain", "Expected GET.\n", { Allow: "GET, HEAD" });
		const rest = pathname.slice(base.length);
		if (rest === "healthz")
			return answer(200, "application/json", `${JSON.stringify({ status: "ok", version, pid: process.pid })}\n`);
		if (rest === "status") return answer(200, "application/json", `${JSON.stringify(ledger.status())}\n`);
		if (rest === "metrics" && metrics) return answer(200, "text/plain", await metrics.text());
		if (rest === "")
			return answer(200, "text/html", await statusPage(ledger.status()), { Refresh: String(secondsToRefresh) });
		const ref = /^originals\/(?<ref>[A-Za-z0-9-]{1,40})$/.exec(rest)?.groups?.ref;
		if (ref === undefined || !archive) return answer(404, "text/plain", "Not found.\n");
		try {
			return answer(200, "text/plain", (await archive.get(ref)).text);
		} catch (error) {
			if (!(error instanceof PalimpsestError)) throw error;
			return answer(404, "text/plain", `${error.message}\n`);
		}
	};
}

async function statusPage(status: ProxyStatus): Promise<string> {
	const { edited, held_out: heldOut, requests, faults, undecided, kept_warm: keptWarm, conversations } = status;
	const threads = requests.threads > 0 ? ` Threads passed: ${requests.threads}.` : "";
	const faultText = Object.entries(faults).map(([kind, count]) => `${kind.replaceAll("_", " ")} ${count}`);
	const body = `<main>
<h1>Palimpsest proxy</h1>
<p>${requests.requests} requests, ${requests.edited} of them edited, since ${time(status.started)}. ${share(edited)}</p>
<p>Sent again in another form: ${requests.sent_again}.${threads} Faults: ${faultText.join(", ")}.</p>
${[...undecidedText(undecided), ...frozenText(status.frozen_conversations), ...keptWarmText(keptWarm)].map((text) => `<p>${text}.</p>`).join("")}
${heldOut.requests > 0 ? `<p>Held out, never edited: ${heldOut.requests} requests, ${count(heldOut.tokens_sent)} tokens sent.</p>` : ""}
${conversations.slice(0, mostDetailed).map(conversationText).join("\n")}
</main>`;
	const styles = [await pageAsset("page.css"), ownStyle];
	return selfContainedPage({ title: "Palimpsest proxy", body, styles, scripts: [], data: null });
}

type Conversation = ProxyStatus["conversations"][number];

function conversationText(one: Conversation): string {
	const rows = one.results
		.toReversed()
		.map(
			({ request, what, why, tool, ref, tokens_before, tokens_after }) =>
				`<tr><td>${request}</td><td>${escapeHtml(tool ?? "")}</td><td>${what}: ${why}</td><td>${count(tokens_before)} → ${count(tokens_after)}</td><td>${
					ref === null ? "" : `<a href="${base}originals/${escapeHtml(ref)}">${escapeHtml(ref)}</a>`
				}</td></tr>`,
		);
	const table = `<table><thead><tr><th>request</th><th>tool</th><th>result</th><th>tokens</th><th>original</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
	return `<section>
<h2>${escapeHtml(one.model ?? one.api)} <small>${escapeHtml(one.id.slice(0, 8))}, ${one.state.replaceAll("_", " ")}, ${time(one.last)}</small></h2>
<p>${one.requests} requests. ${share(one)}</p>
${plot(
	"Tokens of each request: sent, and unedited",
	one.points.map(([sent = 0, leftOut = 0]) => [sent, sent + leftOut]),
)}
${one.ratio === null ? "" : plot("Billed in total: sent, and unedited", sums(one.points.map(([, , billed, unedited]) => [billed, unedited])))}
${rows.length > 0 ? `<details><summary>${rows.length} results masked or cut</summary>${table}</details>` : ""}
</section>`;
}

function share(one: ProxyStatus["edited"]): string {
	return `Tokens sent ${count(one.tokens_sent)}, left out ${count(one.tokens_left_out)}. Billed ${billText(one)}.`;
}

function sums(points: readonly (readonly [number, number])[]): [number, number][] {
	let [billed, unedited] = [0, 0];
	return points.map(([own, raw]) => {
		billed += own;
		unedited += raw;
		return [billed, unedited];
	});
}

const [width, height] = [640, 120];

/** Two lines: the requests as sent, and dashed the unedited requests. */
function plot(title: string, points: readonly (readonly [number, number])[]): string {
	if (points.length < 2) return "";
	const most = Math.max(1, ...points.flat());
	const line = (which: 0 | 1) =>
		points
			.map((point, index) => {
				const x = (index / (points.length - 1)) * width;
				return `${x.toFixed(1)},${(height - (point[which] / most) * height).toFixed(1)}`;
			})
			.join(" ");
	return `<figure><figcaption>${title} (up to ${count(most)})</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}"><polyline class="came" points="${line(1)}"/><polyline class="sent" points="${line(0)}"/></svg></figure>`;
}

const ownStyle = `main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
figure { margin: 1rem 0; }
svg { width: 100%; height: 7.5rem; border-bottom: 1px solid; }
polyline { fill: none; stroke: currentColor; stroke-width: 2; vector-effect: non-scaling-stroke; }
polyline.came { stroke-dasharray: 4 4; opacity: 0.6; }
td { padding-right: 1rem; }`;

function count(value: number): string {
	return Math.round(value).toLocaleString("en");
}

function time(at: number): string {
	return new Date(at).toISOString().slice(0, 19).replace("T", " ");
}
