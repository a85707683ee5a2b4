import { formatCount } from "../replay-page.ts";
import { connectToHost } from "./connect-to-host.js";
import { byId, element } from "./elements.js";
import { renderReport } from "./render-report.js";

/** @import { ContextReport } from "../../pipeline/report/context-report.ts" */

document.documentElement.dataset.embedded = "";
connectToHost({
	version: JSON.parse(byId("data").textContent ?? "").version,
	onResult({ structuredContent }) {
		const report = reportIn(structuredContent);
		if (report !== undefined) renderReport(byId("report"), report);
		else byId("report").replaceChildren(element("p", { class: "lead" }, [outcomeIn(structuredContent)]));
	},
});

/**
 * A tool answers with the report itself, or has it as its `context`.
 *
 * @param {unknown} answer
 * @returns {ContextReport | undefined}
 */
function reportIn(answer) {
	const found = /** @type {{ context?: unknown } | undefined} */ (answer);
	for (const one of [found?.context, found])
		if (typeof one === "object" && one !== null && "by_role" in one) return /** @type {ContextReport} */ (one);
	return undefined;
}

/** @typedef {{ fits: boolean | null, tokens: { before: number, after: number }, budget_tokens: number | null }} Outcome */

/**
 * What `guard_context` did where it was asked for something else: a host shows the page with each of its answers.
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
