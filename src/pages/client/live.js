import {
	conversationRows,
	detailedOf,
	formatChange,
	formatDollars,
	inWords,
	nameOf,
	proxyRows,
	reasonName,
	spanOf,
	tilesOf,
	timeOf,
} from "../live-data.ts";
import { counted, formatCount } from "../replay-data.ts";
import { byId, element } from "./elements.js";
import { livePlot } from "./live-plot.js";
import { liveTable, setText } from "./live-table.js";
import { onSchemeChange } from "./plot.js";

/** @import { LiveConversation, LiveStatus } from "../live-data.ts" */
/** @import { Cell } from "./live-table.js" */

/** Seconds between two answers, at least. */
const leastBetween = 0.25;
const secondsToRetry = 1;
const secondsToHold = 10;
/** Rows that a table has before it is asked for all. */
const mostRows = 200;

/** @type {LiveStatus} */
let status = JSON.parse(byId("data").textContent ?? "");
/** When the proxy last answered. */
let answered = Date.now();
/** @type {LiveConversation | undefined} */
let shown;
/** @type {number | undefined} of the shown conversation; the latest if undefined */
let request;

/** @type {[HTMLSelectElement, HTMLInputElement]} */
const [select, slider] = [byId("conversation"), byId("request")];
const plot = livePlot((index) => choose(index + (shown?.first_point ?? 1)));
const table = {
	breaks: liveTable(byId("breaks"), {
		caption: "Cache breaks, the latest first",
		headings: ["Request", "Cause", "Tokens written again", "US dollars", "What differs", "What helps"],
		className: "figures live words",
	}),
	conversations: liveTable(byId("conversations"), {
		caption: "Conversations, the latest first",
		headings: ["Conversation", "Last", "Requests", "Tokens sent", "Left out", "Input bill", "US dollars", "Saved"],
	}),
};
const folded = [
	foldedTable("points", {
		caption: "Requests, the latest first",
		headings: ["Request", "Sent", "Left out", "Billed", "Billed unedited"],
		items: ({ points }) => points,
		allOf: ({ requests }) => requests,
		rowOf: ([sent, leftOut, billed, unedited], index, { first_point: first }) => ({
			key: String(first + index),
			cells: [
				...[first + index, sent, leftOut, billed].map(formatCount),
				unedited === 0 ? "unknown" : formatCount(unedited),
			],
		}),
	}),
	foldedTable("results", {
		caption: "Results, the latest first",
		headings: ["Request", "Tool", "Result", "Tokens", "Original"],
		className: "figures live words",
		items: ({ results }) => results,
		rowOf: ({ request, tool, what, why, ref, tokens_before: before, tokens_after: after }, index) => ({
			key: `${ref ?? index} ${what} ${request}`,
			cells: [
				formatCount(request),
				tool ?? "–",
				`${what}: ${why}`,
				`${formatCount(before)} → ${formatCount(after)}`,
				ref === null ? "not archived" : { text: ref, href: `originals/${encodeURIComponent(ref)}` },
			],
		}),
	}),
	foldedTable("undecided", {
		caption: "Requests without new decisions, the latest first",
		headings: ["Requests", "Why", "Last"],
		className: "figures live words",
		items: ({ undecided }) => undecided,
		rowOf: ({ from, to, why, last }) => ({
			key: String(from),
			cells: [
				from === to ? formatCount(from) : `${formatCount(from)}–${formatCount(to)}`,
				reasonName(why),
				timeOf(last),
			],
		}),
	}),
];

/** @type {() => void} */
let wake = () => {};
document.addEventListener("visibilitychange", () => document.hidden || wake());
select.addEventListener("change", () => follow(select.value));
slider.addEventListener("input", () => choose(slider.valueAsNumber));
onSchemeChange(plot.redraw);
byId("main").hidden = false;
// The cookie has the key from now on.
if (location.search !== "") history.replaceState(null, "", location.pathname);
connection("live");
show();
void keepAsking();

/** Asks for the status again and again, while the page is seen. The proxy answers once it has entered a request. */
async function keepAsking() {
	let failures = 0;
	let tag = "";
	for (;;) {
		await pause(failures === 0 ? leastBetween : secondsToRetry);
		const asking = new AbortController();
		wake = () => asking.abort();
		try {
			const known = tag === "" ? {} : { "If-None-Match": tag, Prefer: `wait=${secondsToHold}` };
			const answer = await fetch(`status?conversation=${encodeURIComponent(select.value)}`, {
				headers: known,
				cache: "no-store",
				signal: AbortSignal.any([asking.signal, AbortSignal.timeout(2_000 * secondsToHold)]),
			});
			if (!answer.ok && answer.status !== 304) throw new Error(`status ${answer.status}`);
			if (answer.status !== 304) {
				/** @type {LiveStatus} */
				const next = await answer.json();
				// Another proxy, whose page may differ.
				if (next.started !== status.started) return location.reload();
				tag = answer.headers.get("ETag") ?? "";
				status = next;
				show();
			}
			failures = 0;
			answered = Date.now();
			connection("live");
		} catch {
			if (asking.signal.aborted) continue;
			failures += 1;
			if (failures === 2) connection("ended");
		}
	}
}

/**
 * Resolves after some seconds; on a page that is not seen once it is seen again; and when `wake` is called.
 *
 * @param {number} seconds
 */
function pause(seconds) {
	return /** @type {Promise<void>} */ (
		new Promise((resolve) => {
			wake = resolve;
			setTimeout(() => document.hidden || resolve(), 1_000 * seconds);
		})
	);
}

/** @param {"live" | "ended"} state */
function connection(state) {
	document.documentElement.dataset.proxy = state;
	const isLive = state === "live";
	setText(byId("connection"), isLive ? "Live" : `The proxy has ended. These are its figures of ${timeOf(answered)}.`);
	setText(byId("since"), isLive ? `since ${timeOf(status.started)}` : "");
}

/** @param {string} id of a conversation; empty for the one with most requests */
function follow(id) {
	if (select.value !== id) select.value = id;
	request = undefined;
	wake();
}

/** @param {number} chosen the number of a request */
function choose(chosen) {
	request = chosen === Number(slider.max) ? undefined : chosen;
	point();
}

function show() {
	const { conversations } = status;
	const isEmpty = conversations.length === 0;
	byId("empty").hidden = !isEmpty;
	byId("filled").hidden = isEmpty;
	showTiles();
	const rows = proxyRows(status);
	byId("proxy-section").hidden = rows.length === 0;
	showRows(byId("proxy"), rows);
	if (isEmpty) return;
	showOptions();
	const one = detailedOf(status);
	if (one === undefined) return;
	if (one.id !== shown?.id) request = undefined;
	shown = one;
	setText(byId("subject"), `${nameOf(one)} · ${one.model ?? "unknown model"} · ${spanOf(one)}`);
	plot.show(one);
	slider.min = String(one.first_point);
	slider.max = String(one.first_point + one.points.length - 1);
	point();
	showRows(byId("facts"), conversationRows(one));
	showBreaks(one);
	showEdits(one);
	showConversations(one);
	for (const each of folded) each.show();
}

function showTiles() {
	const tiles = byId("tiles");
	tilesOf(status).forEach(({ name, value, detail, isLoss = false }, index) => {
		const tile =
			tiles.children[index] ??
			tiles.appendChild(
				element("div", {}, [element("dt"), element("dd", { class: "value" }), element("dd", { class: "note" })]),
			);
		tile.setAttribute("data-tone", value === "unknown" || value === "–" ? "unknown" : isLoss ? "loss" : "known");
		[name, value, detail].forEach((text, place) => {
			const part = tile.children[place];
			if (part) setText(part, text);
		});
	});
}

/**
 * @param {HTMLElement} list
 * @param {readonly (readonly [string, string])[]} rows
 */
function showRows(list, rows) {
	const place = (/** @type {number} */ index) =>
		list.children[index] ?? list.appendChild(element("div", {}, [element("dt"), element("dd")]));
	rows.forEach(([name, text], index) => {
		const [term, value] = place(index).children;
		if (term) setText(term, name);
		if (value) setText(value, text);
	});
	while (list.children.length > rows.length) list.lastElementChild?.remove();
}

/** New conversations come first; none is moved, so that an open list stays unchanged. */
function showOptions() {
	const first = select.options[0] ?? select.appendChild(element("option", { value: "" }));
	setText(first, "The busiest of the last ten minutes");
	const present = new Map(Array.from(select.options, (option) => [option.value, option]));
	for (const one of [...status.conversations].reverse()) {
		const option = present.get(one.id) ?? element("option", { value: one.id });
		setText(option, `${nameOf(one)} · ${one.model ?? "unknown model"} · ${timeOf(one.first)}`);
		if (!present.delete(one.id)) first.after(option);
	}
	for (const [id, option] of present) if (id !== "") option.remove();
}

function point() {
	if (shown === undefined) return;
	const last = shown.first_point + shown.points.length - 1;
	const chosen = Math.max(shown.first_point, Math.min(request ?? last, last));
	slider.value = String(chosen);
	const words = plot.pointAt(chosen - shown.first_point);
	slider.setAttribute("aria-valuetext", words);
	const time = chosen === last ? `, at ${timeOf(shown.last)}` : "";
	setText(byId("readout"), `Request ${formatCount(chosen)} of ${formatCount(last)}${time}`);
}

/** @param {LiveConversation} one */
function showBreaks({ breaks }) {
	byId("breaks-section").hidden = breaks === undefined;
	if (breaks === undefined) return;
	const tokens = breaks.reduce((sum, one) => sum + one.tokens, 0);
	const usd = breaks.some((one) => one.usd === null)
		? ""
		: `, ${formatDollars(breaks.reduce((sum, one) => sum + (one.usd ?? 0), 0))}`;
	setText(
		byId("breaks-lead"),
		breaks.length === 0
			? "The provider’s cache did not break in this conversation."
			: `${counted(breaks.length, "break")}: ${counted(tokens, "token")} written to the cache again${usd}.`,
	);
	byId("breaks").hidden = breaks.length === 0;
	const rows = breaks.map(({ request, cause, detail, tokens, usd, advice }) => ({
		key: String(request),
		cells: [
			formatCount(request),
			inWords(cause),
			formatCount(tokens),
			usd === null ? "unknown" : formatDollars(usd),
			// A terminal has spaces in its numbers; this page writes them in one way.
			detail.replace(/(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))/g, ",") || "–",
			advice ?? "–",
		],
	}));
	table.breaks.show(rows.reverse());
}

/** @param {LiveConversation} one */
function showEdits({ results, undecided }) {
	const before = results.reduce((sum, one) => sum + one.tokens_before, 0);
	const after = results.reduce((sum, one) => sum + one.tokens_after, 0);
	setText(
		byId("edits-lead"),
		results.length === 0
			? "Nothing yet: results leave a request once that pays."
			: `${counted(results.length, "result")}: ${formatCount(before)} → ${counted(after, "token")}.`,
	);
	byId("results").hidden = results.length === 0;
	byId("undecided").hidden = undecided.length === 0;
}

/** @param {LiveConversation} chosen */
function showConversations(chosen) {
	const { conversations } = status;
	setText(
		byId("conversations-lead"),
		`${counted(conversations.length, "conversation")}. Choose one to see its requests. Tokens left out count in each request that goes without them.`,
	);
	table.conversations.show(
		conversations.map((one) => ({
			key: one.id,
			cells: [
				{
					text: nameOf(one),
					detail: one.model ?? "unknown model",
					isChosen: one.id === chosen.id,
					choose: () => follow(one.id),
				},
				timeOf(one.last),
				formatCount(one.requests),
				formatCount(one.tokens_sent),
				formatCount(one.tokens_left_out),
				one.ratio === null ? "unknown" : formatChange(one.ratio),
				one.usd === null ? "unknown" : formatDollars(one.usd),
				one.usd_saved === null ? "unknown" : formatDollars(one.usd_saved),
			],
		})),
	);
}

/**
 * A table that is made once its `details` is opened, and updated while that is open. Its summary says how many items there are, of
 * how many if the page has the latest alone. These come first.
 *
 * @template Item
 * @param {string} id
 * @param {{
 *   caption: string,
 *   headings: readonly string[],
 *   className?: string,
 *   items: (one: LiveConversation) => readonly Item[],
 *   allOf?: (one: LiveConversation) => number,
 *   rowOf: (item: Item, index: number, one: LiveConversation) => { key: string, cells: readonly Cell[] },
 * }} about
 */
function foldedTable(id, { items, allOf, rowOf, ...about }) {
	/** @type {HTMLDetailsElement} */
	const details = byId(id);
	const summary = details.querySelector("summary");
	const title = summary?.textContent ?? "";
	const more = element("button", { type: "button", class: "more" });
	let most = mostRows;
	/** @type {ReturnType<typeof liveTable> | undefined} */
	let made;
	const show = () => {
		const one = shown;
		if (one === undefined) return;
		const all = items(one);
		const known = allOf?.(one) ?? all.length;
		const listed =
			known > all.length ? `the latest ${formatCount(all.length)} of ${formatCount(known)}` : formatCount(known);
		if (summary) setText(summary, `${title}: ${listed}`);
		if (!details.open) return;
		made ??= liveTable(details, about);
		const from = Math.max(0, all.length - most);
		made.show(
			all
				.slice(from)
				.map((item, index) => rowOf(item, from + index, one))
				.reverse(),
		);
		setText(more, `Show ${formatCount(from)} more`);
		if (from === 0) more.remove();
		else if (more.parentNode === null) details.append(more);
	};
	more.addEventListener("click", () => {
		most = Number.POSITIVE_INFINITY;
		/** @type {HTMLElement | null} */ (details.querySelector(".scrolls"))?.focus();
		show();
	});
	details.addEventListener("toggle", show);
	return { show };
}
