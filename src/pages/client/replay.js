import { formatCount } from "../replay-data.ts";
import { byId, element } from "./elements.js";
import { onSchemeChange } from "./plot.js";
import { contextPlot, costPlot, unpack } from "./plots.js";
import { recallPlot } from "./recall-plot.js";

/** @import { ReplayPageData } from "../replay-data.ts" */

/** @type {ReplayPageData} */
const data = JSON.parse(byId("data").textContent ?? "");
const recall = recallPlot(data);
if (data.files.length === 0) onSchemeChange(recall.redraw);
else overTime();

function overTime() {
	/** @type {[HTMLSelectElement, HTMLSelectElement, HTMLInputElement]} */
	const [file, policy, call] = [byId("file"), byId("policy"), byId("call")];
	byId("over-time").hidden = false;
	const context = contextPlot(pointAt);
	const cost = costPlot(data, pointAt);
	file.append(...data.files.map((one, place) => element("option", { value: place }, [one.file])));
	let conversation = unpack(data, 0);

	/** @param {number} index */
	function pointAt(index) {
		call.value = String(index);
		const series = chosen();
		call.setAttribute(
			"aria-valuetext",
			`call ${formatCount(conversation.at[index] ?? 0)}: ${formatCount(series.total[index] ?? 0)} tokens under ${series.policy}`,
		);
		context.pointAt(index);
		cost.pointAt(index);
	}

	function chosen() {
		const found = conversation.series[policy.selectedIndex] ?? conversation.series[0];
		if (found === undefined) throw new Error("a conversation without a policy");
		return found;
	}

	function showPolicy() {
		const most = conversation.series.flatMap(({ total }) => total).reduce((largest, one) => Math.max(largest, one), 0);
		context.show(conversation, chosen(), most);
		cost.show(conversation, chosen().policy);
		pointAt(Number(call.value));
	}

	function showFile() {
		const before = conversation.series[policy.selectedIndex]?.policy;
		conversation = unpack(data, file.selectedIndex);
		const { series, at, calls } = conversation;
		policy.replaceChildren(...series.map((one) => element("option", {}, [one.policy])));
		const kept = series.findIndex((one) => one.policy === before);
		const own = series.findIndex((one) => one.policy === "balanced");
		const edited = series.findIndex((one) => one.policy !== "raw");
		policy.selectedIndex = [kept, own, edited].find((index) => index >= 0) ?? 0;
		call.max = String(at.length - 1);
		call.value = call.max;
		byId("drawn").textContent =
			at.length < calls ? `Drawn from ${formatCount(at.length)} of its ${formatCount(calls)} LLM calls.` : "";
		showPolicy();
	}

	file.addEventListener("change", showFile);
	policy.addEventListener("change", showPolicy);
	call.addEventListener("input", () => pointAt(Number(call.value)));
	onSchemeChange(() => {
		recall.redraw();
		context.redraw();
		cost.redraw();
		pointAt(Number(call.value));
	});
	showFile();
}
