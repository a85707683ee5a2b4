import uPlot from "uplot";
import { colourOf } from "./colours.js";

const font = "12px system-ui, sans-serif";

/**
 * An axis in the colours of the page.
 *
 * @param {Partial<import("uplot").Axis>} own
 * @returns {import("uplot").Axis}
 */
export function axis(own) {
	const line = () => colourOf("--grid");
	return {
		stroke: () => colourOf("--muted"),
		font,
		labelFont: font,
		labelSize: 18,
		labelGap: 0,
		gap: 6,
		size: 28,
		grid: { stroke: line, width: 1 },
		ticks: { show: false },
		...own,
	};
}

/**
 * A plot that is as wide as its container, whatever becomes of that, and has its scheme's colours.
 *
 * @param {HTMLElement} container
 * @param {(width: number) => number} heightFor
 */
export function plotIn(container, heightFor) {
	/** @type {import("uplot") | undefined} */
	let plot;
	/** @type {(() => void) | undefined} */
	let draw;
	/** @type {number | undefined} */
	let pointed;
	const point = () => {
		const x = pointed === undefined ? undefined : plot?.data[0]?.[pointed];
		if (plot === undefined || x === undefined || x === null) return;
		plot.setCursor({ left: plot.valToPos(x, "x"), top: plot.over.clientHeight / 2 }, false);
	};
	const size = () => {
		const width = Math.max(200, Math.floor(container.clientWidth));
		return { width, height: heightFor(width) };
	};
	// Whoever points elsewhere leaves the cursor where it was last.
	container.addEventListener("mouseleave", point);
	let width = 0;
	new ResizeObserver(() => {
		if (container.clientWidth === width) return;
		width = container.clientWidth;
		draw?.();
	}).observe(container);
	return {
		/**
		 * Draws anew. Options are asked for again when the width changes, since axes and labels depend on it.
		 *
		 * @param {(width: number) => Omit<import("uplot").Options, "width" | "height">} optionsFor
		 * @param {import("uplot").AlignedData} data
		 */
		show(optionsFor, data) {
			draw = () => {
				plot?.destroy();
				width = container.clientWidth;
				const now = size();
				plot = new uPlot({ ...now, legend: { show: false }, ...optionsFor(now.width) }, data, container);
				point();
			};
			draw();
		},
		redraw: () => draw?.(),
		/** @param {number} index of the call that the cursor stands at */
		pointAt(index) {
			pointed = index;
			point();
		},
	};
}
