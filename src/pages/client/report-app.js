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
		else
			byId("report").replaceChildren(element("p", { class: "lead" }, ["The tool answered without a context report."]));
	},
});

/**
 * A tool answers with the report itself, or has it as its `report`.
 *
 * @param {unknown} answer
 * @returns {ContextReport | undefined}
 */
function reportIn(answer) {
	const found = /** @type {{ report?: unknown } | undefined} */ (answer);
	for (const one of [found?.report, found])
		if (typeof one === "object" && one !== null && "by_role" in one) return /** @type {ContextReport} */ (one);
	return undefined;
}
