import {
	groupName,
	maskingWords,
	partNames,
	priceStepWords,
	repeatedWords,
	shownGroups,
	unrecordedWords,
} from "../../operations/window-words.ts";
import { counted, formatCount, formatShare } from "../replay-data.ts";
import { byId, element, legendItem, tableRegion } from "./elements.js";

/** @import { ContextReport } from "../../operations/report.ts" */
/** @import { McpUiHostContext, McpUiInitializeRequest } from "@modelcontextprotocol/ext-apps" */
/** @import { CallToolResult } from "@modelcontextprotocol/sdk/types.js" */

/** MCP Apps, SEP-1865. */
const protocolVersion = "2026-01-26";

const numbers = { count: formatCount, share: formatShare };

/** @typedef {ContextReport["by_part"][number]} PartShare */

/** @type {Readonly<Record<PartShare["part"], string>>} */
const properties = {
	system_prompt: "--part-system",
	tools: "--part-tools",
	people: "--part-user",
	assistant: "--part-assistant",
	reasoning: "--part-reasoning",
	calls: "--part-calls",
	tool_results: "--part-results",
	other: "--part-other",
};

/** @type {ContextReport | { readonly version: string }} */
const data = JSON.parse(byId("data").textContent ?? "");
if ("by_part" in data) renderReport(data);
else {
	document.documentElement.dataset.embedded = "";
	connectToHost(data.version, ({ structuredContent }) => {
		const report = reportIn(structuredContent);
		if (report !== undefined) renderReport(report);
		else byId("report").replaceChildren(element("p", { class: "lead" }, [outcomeIn(structuredContent)]));
	});
}

/**
 * A tool answers with the report itself, or has it as its `context`.
 *
 * @param {unknown} answer
 * @returns {ContextReport | undefined}
 */
function reportIn(answer) {
	const found = /** @type {{ context?: unknown } | undefined} */ (answer);
	for (const one of [found?.context, found])
		if (typeof one === "object" && one !== null && "by_part" in one) return /** @type {ContextReport} */ (one);
	return undefined;
}

/** @typedef {{ fits: boolean | null, tokens: { before: number, after: number }, budget_tokens: number | null }} Outcome */

/**
 * The outcome of `guard_context` in words, for an answer without a report: a host shows the page with every answer.
 *
 * @param {unknown} answer
 * @returns {string}
 */
function outcomeIn(answer) {
	const found = /** @type {{ report?: Partial<Outcome> } | undefined} */ (answer);
	const { fits, tokens, budget_tokens } = found?.report ?? {};
	if (fits === undefined || tokens === undefined || budget_tokens === undefined)
		return "The tool answered without a context report.";
	const change = tokens.before === tokens.after ? "" : `${formatCount(tokens.before)} → `;
	const held = `${change}${formatCount(tokens.after)} tokens`;
	if (fits === null || budget_tokens === null)
		return `The conversation has ${held}; no context window is known. A report says what fills it.`;
	const within = `${held}, with a budget of ${formatCount(budget_tokens)}.`;
	return `The conversation ${fits ? "fits" : "does not fit"}: ${within} A report says what fills the window.`;
}

/** @param {ContextReport} report */
function renderReport(report) {
	byId("report").replaceChildren(
		element("p", { class: "lead" }, [summaryOf(report)]),
		windowBar(report),
		byPart(report),
		biggest(report),
		presets(report),
		...report.notes.map((note) => element("p", { class: "note" }, [note])),
	);
}

/** @param {ContextReport} report */
function summaryOf({ price_steps, ...report }) {
	const step = priceStepWords(report.tokens, price_steps, numbers);
	return step === undefined ? windowOf(report) : `${windowOf(report)} Prices: ${step}.`;
}

/** @param {Omit<ContextReport, "price_steps">} report */
function windowOf({ model, tokens, messages, tool_turns, context_window, budget_tokens }) {
	const held = `${formatCount(tokens)} tokens in ${counted(messages, "message")} and ${counted(tool_turns, "tool turn")}`;
	const ofModel = model === null ? "the context window" : `the context window of ${model}`;
	if (context_window === null) return `${held}. How large ${ofModel} is, is not known.`;
	const filled = `${held}: ${formatShare(tokens / context_window)} of ${ofModel}, ${formatCount(context_window)} tokens.`;
	if (budget_tokens === null) return filled;
	const room = budget_tokens - tokens;
	return room >= 0
		? `${filled} ${formatCount(room)} tokens are left of the budget of ${formatCount(budget_tokens)}.`
		: `${filled} That is ${formatCount(-room)} tokens over the budget of ${formatCount(budget_tokens)}.`;
}

/** @param {ContextReport} report */
function byPart({ by_part, tokens, unrecorded_tokens, masking, repeated_tokens }) {
	return tableBlock({
		heading: "What fills it",
		note: [
			maskingWords(masking, tokens, numbers),
			repeatedWords(repeated_tokens, tokens, numbers),
			unrecordedWords(by_part, unrecorded_tokens, numbers),
		]
			.filter((words) => words !== undefined)
			.join(" "),
		headings: ["Part", "Count", "Tokens", "Share", "Masking frees"],
		rows: by_part.filter((one) => one.tokens !== null && one.tokens !== 0).flatMap((one) => rowsOfPart(one, tokens)),
		empty: "No messages.",
	});
}

/**
 * A part, and under it its tools by server or its results by tool.
 *
 * @param {PartShare} part
 * @param {number} tokens
 * @returns {(Node | string)[][]}
 */
function rowsOfPart(part, tokens) {
	const property = properties[part.part];
	const row = (
		/** @type {string} */ name,
		/** @type {{ tokens: number, count?: number, freed_tokens: number }} */ one,
		/** @type {boolean} */ isGroup,
	) => [
		barCell(isGroup ? `–\u00a0${name}` : name, one.tokens / tokens, property),
		one.count === undefined ? "" : formatCount(one.count),
		formatCount(one.tokens),
		formatShare(one.tokens / (tokens || 1)),
		part.part === "tool_results" ? formatCount(one.freed_tokens) : "",
	];
	const sum = (/** @type {"count" | "freed_tokens"} */ key) => part.groups.reduce((all, one) => all + one[key], 0);
	const count = part.groups.length > 0 ? { count: sum("count") } : {};
	return [
		row(partNames[part.part], { tokens: part.tokens ?? 0, ...count, freed_tokens: sum("freed_tokens") }, false),
		...shownGroups(part).map((group) => row(groupName(part, group), group, true)),
	];
}

/** @param {ContextReport} report */
function biggest({ biggest_results, tokens }) {
	const largest = biggest_results[0]?.tokens ?? 1;
	return tableBlock({
		heading: "The biggest tool results",
		note: "Age: tool turns since it came. Used since: an answer took text from it that was nowhere else; the bars of the others are grey. Stale: the same text or call came again.",
		headings: ["Tool", "Tokens", "Age", "Used since", "Stale", "Share", "Message", "Call"],
		rows: biggest_results.map((one) => [
			barCell(one.tool ?? "unknown", one.tokens / largest, one.used_since ? "--part-results" : "--unused", one.target),
			formatCount(one.tokens),
			formatCount(one.age_turns),
			yesOrNo(one.used_since),
			yesOrNo(one.stale),
			formatShare(one.tokens / (tokens || 1)),
			formatCount(one.message),
			element("code", {}, [one.call_id ?? "–"]),
		]),
		empty: "No tool results.",
	});
}

/** @param {ContextReport} report */
function presets({ presets: outcomes, tokens }) {
	return tableBlock({
		heading: "What each preset would free and cost",
		note: `Bars show what is left of ${formatCount(tokens)} tokens. Rewritten: tokens from the first change on, which the provider writes to its cache again; pays after: calls until the savings have paid for that.`,
		headings: [
			"Preset",
			"Tokens after",
			"Freed",
			"Share",
			"Fits",
			"Masked",
			"Cut",
			"Dropped",
			"Rewritten",
			"Pays after",
		],
		rows: outcomes.map((one) => [
			barCell(one.preset, one.tokens_after / tokens, "--part-assistant"),
			formatCount(one.tokens_after),
			formatCount(one.freed_tokens),
			formatShare(one.freed_tokens / (tokens || 1)),
			one.fits === null ? "–" : yesOrNo(one.fits, "judged"),
			formatCount(one.masked),
			formatCount(one.truncated),
			formatCount(one.dropped),
			formatCount(one.rewritten_tokens),
			paysAfter(one),
		]),
		empty: "No presets were tried.",
	});
}

/** @param {ContextReport["presets"][number]} outcome */
function paysAfter({ freed_tokens, calls_to_break_even }) {
	if (freed_tokens === 0 && calls_to_break_even === null) return "–";
	if (calls_to_break_even === null) return "never";
	return calls_to_break_even === 0 ? "at once" : counted(calls_to_break_even, "call");
}

/**
 * The context window as one bar: the parts, the free part, and the end of the budget.
 *
 * @param {ContextReport} report
 */
function windowBar({ by_part, tokens, context_window, budget_tokens }) {
	const whole = Math.max(tokens, context_window ?? 0, budget_tokens ?? 0, 1);
	const free = Math.max(0, (context_window ?? tokens) - tokens);
	const filled = by_part.flatMap(({ part, tokens: own }) => {
		return own === null || own <= 0 ? [] : [{ name: partNames[part], property: properties[part], own }];
	});
	const bar = element(
		"div",
		{ class: "window" },
		filled.map(({ property, own }) => segment(own / whole, property)),
	);
	if (budget_tokens !== null) {
		const line = element("div", { class: "budget" });
		line.style.left = `${((100 * budget_tokens) / whole).toFixed(2)}%`;
		bar.append(line);
	}
	const said = filled.map(({ name, own }) => `${name} ${formatCount(own)}`).join(", ");
	const rest = context_window === null ? "" : free > 0 ? `, free ${formatCount(free)}` : ", nothing free";
	const budget = budget_tokens === null ? "" : `; the budget ends at ${formatCount(budget_tokens)}`;
	const picture = element("div", { role: "img", "aria-label": `Tokens by part: ${said}${rest}${budget}.` }, [bar]);
	const items = filled.map(({ name, property, own }) => {
		return legendItem(
			{ property, filled: true },
			name,
			element("b", {}, [`${formatCount(own)}, ${formatShare(own / (tokens || 1))}`]),
		);
	});
	if (context_window !== null)
		items.push(legendItem({ property: "--free", filled: true }, "free", element("b", {}, [formatCount(free)])));
	if (budget_tokens !== null) {
		items.push(legendItem({ property: "--ink" }, "budget", element("b", {}, [formatCount(budget_tokens)])));
	}
	return element("section", { class: "block", "aria-label": "The window" }, [
		element("h2", {}, [context_window === null ? "The conversation" : "The window"]),
		picture,
		element("ul", { class: "legend" }, items),
	]);
}

/**
 * @param {number} part
 * @param {string} property
 */
function segment(part, property) {
	const made = element("div");
	made.style.width = `${(100 * part).toFixed(3)}%`;
	made.style.background = `var(${property})`;
	return made;
}

/**
 * A heading, a note where there is something to explain, and a table; or a sentence where it would be empty.
 *
 * @param {{ heading: string, note?: string, headings: readonly string[], rows: readonly (readonly (Node | string)[])[], empty: string }} content
 */
function tableBlock({ heading, note, headings, rows, empty }) {
	const block = element("section", { class: "block", "aria-label": heading }, [element("h2", {}, [heading])]);
	if (rows.length === 0) block.append(element("p", {}, [empty]));
	else {
		if (note !== undefined) block.append(element("p", {}, [note]));
		block.append(
			tableRegion({ caption: heading, label: `${heading}, table`, className: "figures report", headings, rows }),
		);
	}
	return block;
}

/**
 * A name with a bar under it. The bar is hidden from screen readers, since the next cell holds its number.
 *
 * @param {string} name
 * @param {number} part from 0 to 1
 * @param {string | undefined} property the custom property of its colour
 * @param {string | null} detail a line under the name
 */
function barCell(name, part, property = "--part-other", detail = null) {
	const bar = element("span", { class: "bar", "aria-hidden": "true" }, [element("span")]);
	const filled = /** @type {HTMLElement} */ (bar.firstChild);
	filled.style.width = `${(100 * Math.min(1, Math.max(0, part || 0))).toFixed(2)}%`;
	filled.style.background = `var(${property})`;
	const cell = document.createDocumentFragment();
	cell.append(element("bdi", { class: "name" }, [name]));
	if (detail !== null) cell.append(element("bdi", { class: "name detail" }, [detail]));
	cell.append(bar);
	return cell;
}

/**
 * A word in a style that differs by more than its colour.
 *
 * @param {boolean} value
 * @param {"plain" | "judged"} tone
 */
function yesOrNo(value, tone = "plain") {
	const weight = tone === "judged" ? (value ? "good" : "bad") : value ? "" : "weak";
	return element("span", weight === "" ? {} : { class: weight }, [value ? "yes" : "no"]);
}

/**
 * Exchanges messages with the host of an MCP App that frames the page: JSON-RPC over `postMessage`. It has only the parts for
 * showing the result of a tool: the package of the protocol would make the page ten times as large.
 *
 * @param {string} version
 * @param {(result: CallToolResult) => void} onResult
 */
function connectToHost(version, onResult) {
	const send = (/** @type {object} */ message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
	/** @type {McpUiInitializeRequest["params"]} */
	const params = { appInfo: { name: "palimpsest", version }, appCapabilities: {}, protocolVersion };
	addEventListener("message", ({ source, data }) => {
		if (source !== parent || typeof data !== "object" || data?.jsonrpc !== "2.0") return;
		if (data.method === undefined) {
			if (data.id !== 1 || data.result === undefined) return;
			adopt(data.result.hostContext);
			send({ method: "ui/notifications/initialized" });
			tellSize(send);
		} else if (data.method === "ui/notifications/tool-result") onResult(data.params);
		else if (data.method === "ui/notifications/host-context-changed") adopt(data.params);
		else if (data.id !== undefined) {
			const isKnown = data.method === "ping" || data.method === "ui/resource-teardown";
			send({ id: data.id, ...(isKnown ? { result: {} } : { error: { code: -32601, message: "Method not found" } }) });
		}
	});
	send({ id: 1, method: "ui/initialize", params });
}

/**
 * Shows the page in the scheme of the host, which need not be that of the system.
 *
 * @param {Partial<McpUiHostContext> | undefined} context
 */
function adopt(context) {
	if (context?.theme !== undefined) document.documentElement.dataset.theme = context.theme;
}

/**
 * Tells how high the page is, now and whenever that changes, so that the host need not let it scroll.
 *
 * @param {(message: object) => void} send
 */
function tellSize(send) {
	new ResizeObserver(() => {
		const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
		send({ method: "ui/notifications/size-changed", params: { height } });
	}).observe(document.documentElement);
}
