import { formatCount, formatShare } from "../replay-page.ts";
import { element } from "./elements.js";
import { legendItem } from "./legend.js";

/** @import { ContextReport } from "../../pipeline/report/context-report.ts" */

/**
 * The context window as one bar: what each role fills, what is free, and where the budget ends.
 *
 * @param {ContextReport} report
 */
export function windowBar({ by_role, tokens, context_window, budget_tokens }) {
	const whole = Math.max(tokens, context_window ?? 0, budget_tokens ?? 0, 1);
	const free = Math.max(0, (context_window ?? tokens) - tokens);
	const filled = by_role.filter((one) => one.tokens > 0);
	const bar = element(
		"div",
		{ class: "window" },
		filled.map(({ role, tokens: own }) => segment(own / whole, partOfRole(role).property)),
	);
	if (budget_tokens !== null) {
		const line = element("div", { class: "budget" });
		line.style.left = `${((100 * budget_tokens) / whole).toFixed(2)}%`;
		bar.append(line);
	}
	const said = filled.map(({ role, tokens: own }) => `${partOfRole(role).name} ${formatCount(own)}`).join(", ");
	const rest = context_window === null ? "" : free > 0 ? `, free ${formatCount(free)}` : ", nothing free";
	const budget = budget_tokens === null ? "" : `; the budget ends at ${formatCount(budget_tokens)}`;
	const picture = element("div", { role: "img", "aria-label": `Tokens by role: ${said}${rest}${budget}.` }, [bar]);
	const items = filled.map(({ role, tokens: own }) => {
		const { name, property } = partOfRole(role);
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
 * How a role is called on the page, and its colour.
 *
 * @param {string} role
 */
export function partOfRole(role) {
	return { name: role === "tool" ? "tool results" : role, property: properties[role] ?? "--part-other" };
}

/** @type {Readonly<Record<string, string>>} */
const properties = {
	system: "--part-system",
	user: "--part-user",
	assistant: "--part-assistant",
	tool: "--part-results",
};

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
