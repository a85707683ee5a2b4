import { formatCost, formatCount, formatShare } from "../replay-data.ts";
import { byId, dataTable, element, legendItem } from "./elements.js";
import { axis, colourOf, plotIn, shortCount, spaceOfTicks, wholeSteps } from "./plot.js";

/** @import { ReplayPageData } from "../replay-data.ts" */
/** @import { BilledUnit } from "../../engine/replaying/report.ts" */

/** Parts of a context from the bottom of the stack to its top, with their names and colours. */
const parts = /** @type {const} */ ([
	{ key: "system", name: "system", property: "--part-system" },
	{ key: "user", name: "user", property: "--part-user" },
	{ key: "assistant", name: "assistant", property: "--part-assistant" },
	{ key: "results", name: "tool results", property: "--part-results" },
	{ key: "placeholders", name: "placeholders", property: "--part-placeholders" },
]);

/**
 * The numbers of one conversation: those of the calls that are drawn, and for each policy the tokens of each part and
 * the cost so far.
 *
 * @param {ReplayPageData} data
 * @param {number} place in `files`
 */
export function unpack({ files, columns, billedDecimals }, place) {
	const file = files[place];
	if (file === undefined) throw new Error("no such conversation");
	const column = (/** @type {number} */ index) => {
		let sum = 0;
		return (columns[index] ?? []).map((difference) => (sum += difference));
	};
	return {
		file: file.file,
		calls: file.calls,
		at: column(file.at),
		series: file.series.map((series) => {
			const tokens = parts.map(({ key }) => column(series[key]));
			return {
				policy: series.policy,
				tokens,
				total: (tokens[0] ?? []).map((_, call) => tokens.reduce((sum, part) => sum + (part[call] ?? 0), 0)),
				billed: column(series.billed).map((value) => value / 10 ** billedDecimals),
			};
		}),
	};
}

/** @typedef {ReturnType<typeof unpack>} Unpacked */
/** @typedef {Unpacked["series"][number]} UnpackedSeries */

/** The grid would not be seen behind the stack. */
const drawOrder = /** @type {import("uplot").DrawOrderKey[]} */ (/** @type {unknown} */ (["series", "axes"]));

/**
 * The context of each call, its parts stacked.
 *
 * @param {(index: number) => void} onPoint called with the drawn call under the pointer
 */
export function contextPlot(onPoint) {
	/** @type {{ conversation: Unpacked, series: UnpackedSeries } | undefined} */
	let shown;
	const container = byId("context-plot");
	const plot = plotIn(container);
	const values = parts.map(() => element("b"));
	const valueOfRaw = element("b");
	const rawItem = legendItem({ property: "--raw", dash: rawDash }, "raw, all parts", valueOfRaw);
	byId("context-legend").append(
		...parts.map(({ name, property }, part) => legendItem({ property, filled: true }, name, values[part])),
		rawItem,
	);
	const table = dataTable(byId("context-data"), () => ({
		caption: `Tokens by part, ${shown?.series.policy ?? ""}`,
		headings: ["Call", ...parts.map(({ name }) => name), "together"],
		rows: (shown?.conversation.at ?? []).map((call, index) => [
			formatCount(call),
			...parts.map((_, part) => formatCount(shown?.series.tokens[part]?.[index] ?? 0)),
			formatCount(shown?.series.total[index] ?? 0),
		]),
	}));

	return {
		redraw: plot.redraw,
		/**
		 * @param {Unpacked} conversation
		 * @param {UnpackedSeries} series
		 * @param {number} most tokens of the largest call under any policy, so that policies are drawn to one scale
		 */
		show(conversation, series, most) {
			shown = { conversation, series };
			container.setAttribute("aria-label", contextInWords(conversation, series));
			const upTo = (/** @type {number} */ part) =>
				series.total.map((_, index) =>
					series.tokens.slice(0, part + 1).reduce((sum, one) => sum + (one[index] ?? 0), 0),
				);
			const raw = rawBeside(conversation, series);
			rawItem.hidden = raw === undefined;
			// The whole stack is painted first, and each smaller one over it.
			const order = parts.map((_, part) => part).reverse();
			plot.show(
				(width) => ({
					padding: [12, 16, 0, 0],
					drawOrder,
					cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
					scales: { x: { time: false }, y: { range: [0, most * 1.04 || 1] } },
					axes: [callAxis(width), axis({ label: "tokens", values: (_, splits) => splits.map(shortCount), size: 52 })],
					series: [
						{},
						...order.map((part) => ({
							fill: () => colourOf(parts[part]?.property ?? ""),
							stroke: () => colourOf("--surface"),
							width: conversation.at.length > width / 3 ? 0 : 1,
							points: { show: false },
						})),
						...(raw ? [{ stroke: () => colourOf("--raw"), width: 1.5, dash: rawDash, points: { show: false } }] : []),
					],
					hooks: { setCursor: [({ cursor: { idx, event } }) => event && typeof idx === "number" && onPoint(idx)] },
				}),
				[conversation.at, ...order.map(upTo), ...(raw ? [raw.total] : [])],
			);
			table.fill();
		},
		/** @param {number} index */
		pointAt(index) {
			if (shown === undefined) return;
			const { conversation, series } = shown;
			values.forEach((value, part) => {
				value.textContent = formatCount(series.tokens[part]?.[index] ?? 0);
			});
			valueOfRaw.textContent = formatCount(rawBeside(conversation, series)?.total[index] ?? 0);
			byId("context-readout").textContent =
				`Call ${formatCount(conversation.at[index] ?? 0)} under ${series.policy}: ${formatCount(series.total[index] ?? 0)} tokens`;
			plot.pointAt(index);
		},
	};
}

const rawDash = [5, 4];

/**
 * The series without masking, where another policy is shown.
 *
 * @param {Unpacked} conversation
 * @param {UnpackedSeries} shown
 */
function rawBeside(conversation, shown) {
	return shown.policy === "raw" ? undefined : conversation.series.find(({ policy }) => policy === "raw");
}

/**
 * @param {Unpacked} conversation
 * @param {UnpackedSeries} series
 */
function contextInWords({ file, at, calls }, { policy, total, tokens }) {
	const last = total.length - 1;
	const peak = total.reduce((most, value, index) => (value > (total[most] ?? 0) ? index : most), 0);
	const ofLast = parts
		.map(({ name }, part) => ({ name, of: (tokens[part]?.[last] ?? 0) / (total[last] || 1) }))
		.sort((a, b) => b.of - a.of)
		.map(({ name, of }) => `${name} ${formatShare(of)}`);
	return `Context of ${formatCount(calls)} LLM calls of ${file} under ${policy}: from ${formatCount(total[0] ?? 0)} tokens at the first call to ${formatCount(total[last] ?? 0)} at the last, at most ${formatCount(total[peak] ?? 0)} at call ${formatCount(at[peak] ?? 0)}. The last call holds ${ofLast.join(", ")}.`;
}

/**
 * The cost of each policy until each call.
 *
 * @param {ReplayPageData} data
 * @param {(index: number) => void} onPoint called with the drawn call under the pointer
 */
export function costPlot({ billedIn, policies }, onPoint) {
	const names = policies.map(({ policy }) => policy);
	/** @type {Unpacked | undefined} */
	let shown;
	/** @type {HTMLElement[]} */
	let values = [];
	const container = byId("cost-plot");
	const plot = plotIn(container);
	const table = dataTable(byId("cost-data"), () => ({
		caption: `Cost so far, ${unitName(billedIn)}`,
		headings: ["Call", ...(shown?.series ?? []).map(({ policy }) => policy)],
		rows: (shown?.at ?? []).map((call, index) => [
			formatCount(call),
			...(shown?.series ?? []).map(({ billed }) => formatCost(billed[index] ?? 0, billedIn)),
		]),
	}));

	return {
		redraw: plot.redraw,
		/**
		 * @param {Unpacked} conversation
		 * @param {string} policy that is drawn strong
		 */
		show(conversation, policy) {
			shown = conversation;
			container.setAttribute("aria-label", costInWords(conversation, billedIn));
			values = conversation.series.map(() => element("b"));
			byId("cost-legend").replaceChildren(
				...conversation.series.map((series, index) =>
					legendItem(
						{ ...lineOfPolicy(names, series.policy), strong: series.policy === policy },
						series.policy,
						values[index],
					),
				),
			);
			plot.show(
				(width) => ({
					padding: [12, 16, 0, 0],
					cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
					scales: { x: { time: false } },
					axes: [
						callAxis(width),
						axis({
							label: unitName(billedIn),
							values: (_, splits) => splits.map((value) => shortCost(value, billedIn)),
							size: 52,
						}),
					],
					series: [
						{},
						...conversation.series.map((series) => {
							const { property, dash } = lineOfPolicy(names, series.policy);
							return {
								stroke: () => colourOf(property),
								width: series.policy === policy ? 3.5 : 1.75,
								dash,
								points: { show: false },
							};
						}),
					],
					hooks: { setCursor: [({ cursor: { idx, event } }) => event && typeof idx === "number" && onPoint(idx)] },
				}),
				[conversation.at, ...conversation.series.map(({ billed }) => billed)],
			);
			table.fill();
		},
		/** @param {number} index */
		pointAt(index) {
			if (shown === undefined) return;
			const { at, series } = shown;
			const raw = series.find(({ policy }) => policy === "raw")?.billed[index];
			series.forEach(({ policy, billed }, place) => {
				const against = raw && policy !== "raw" ? ` (${((billed[index] ?? 0) / raw).toFixed(2)} × raw)` : "";
				const value = values[place];
				if (value) value.textContent = `${formatCost(billed[index] ?? 0, billedIn)}${against}`;
			});
			byId("cost-readout").textContent = `Until call ${formatCount(at[index] ?? 0)}, ${unitName(billedIn)}`;
			plot.pointAt(index);
		},
	};
}

/** @param {BilledUnit} unit */
const unitName = (unit) => (unit === "us_dollars" ? "US dollars" : "in prices of one input token");

/**
 * @param {Unpacked} conversation
 * @param {BilledUnit} unit
 */
function costInWords({ file, calls, series }, unit) {
	const ends = series
		.map(({ policy, billed }) => ({ policy, end: billed.at(-1) ?? 0 }))
		.sort((a, b) => a.end - b.end)
		.map(({ policy, end }) => `${policy} ${formatCost(end, unit)}`);
	return `Cost of ${formatCount(calls)} LLM calls of ${file}, ${unitName(unit)}, the cheapest first: ${ends.join(", ")}.`;
}

/** @param {number} width of the plot in pixels */
const callAxis = (width) => axis({ label: "LLM call", space: spaceOfTicks(width), incrs: wholeSteps });

/** Policies get a colour each by their place; the ninth has that of the first again, with another dash. */
const policyColours = 8;
const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3]];

/**
 * The style of a policy's line: grey for doing nothing; the others each have a colour and, for readers who cannot
 * distinguish the colours, dashes of their own.
 *
 * @param {readonly string[]} policies
 * @param {string} policy
 */
export function lineOfPolicy(policies, policy) {
	if (policy === "raw") return { property: "--raw", dash: /** @type {number[]} */ ([]) };
	const place = policies.filter((one) => one !== "raw").indexOf(policy);
	const round = Math.floor(place / policyColours) + place;
	return { property: `--policy-${place % policyColours}`, dash: dashes[round % dashes.length] ?? [] };
}

const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 2 });

/**
 * The same of a cost: `12.3K` in prices of one token, or `$1.2`.
 *
 * @param {number} value
 * @param {BilledUnit} unit
 */
const shortCost = (value, unit) => (unit === "us_dollars" ? money.format(value) : shortCount(value));
