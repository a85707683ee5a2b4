import uPlot from "uplot";

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
 * A plot that follows the width of its container, in the colours of its scheme.
 *
 * @param {HTMLElement} container
 * @param {(width: number) => number} [heightFor]
 */
export function plotIn(container, heightFor = (width) => Math.round(Math.min(380, Math.max(240, width * 0.42)))) {
	/** @type {import("uplot") | undefined} */
	let plot;
	/** @type {(() => void) | undefined} */
	let draw;
	/** @type {number | undefined} */
	let pointed;
	/** @type {import("uplot").AlignedData} */
	let drawn = [];
	const point = () => {
		const x = pointed === undefined ? undefined : plot?.data[0]?.[pointed];
		if (plot === undefined || x === undefined || x === null) return;
		plot.setCursor({ left: plot.valToPos(x, "x"), top: plot.over.clientHeight / 2 }, false);
	};
	const size = () => {
		const width = Math.max(200, Math.floor(container.clientWidth));
		return { width, height: heightFor(width) };
	};
	// The cursor stays at the last call while the pointer is elsewhere.
	container.addEventListener("mouseleave", point);
	let width = 0;
	new ResizeObserver(() => {
		if (container.clientWidth === width) return;
		width = container.clientWidth;
		draw?.();
	}).observe(container);
	return {
		/**
		 * Draws again. Options are asked for again when the width changes, since axes and labels depend on it.
		 *
		 * @param {(width: number) => Omit<import("uplot").Options, "width" | "height">} optionsFor
		 * @param {import("uplot").AlignedData} data
		 */
		show(optionsFor, data) {
			drawn = data;
			draw = () => {
				plot?.destroy();
				width = container.clientWidth;
				const now = size();
				plot = new uPlot({ ...now, legend: { show: false }, ...optionsFor(now.width) }, drawn, container);
				point();
			};
			draw();
		},
		/**
		 * Draws other data with the same options.
		 *
		 * @param {import("uplot").AlignedData} data
		 */
		update(data) {
			drawn = data;
			plot?.setData(data);
			point();
		},
		redraw: () => draw?.(),
		/** @param {number} index of the call for the cursor */
		pointAt(index) {
			pointed = index;
			point();
		},
	};
}

/** No ticks between calls. */
export const wholeSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/** @param {number} width of the plot in pixels */
export const spaceOfTicks = (width) => (width < 500 ? 56 : 80);

/**
 * Calls `redraw` when the scheme changes: that of the system, or `data-theme` of the root, which the host sets.
 *
 * @param {() => void} redraw
 */
export function onSchemeChange(redraw) {
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}

/** @type {HTMLElement | undefined} */
let probe;

/**
 * The present value of a custom property of the style sheet, as a canvas understands it.
 *
 * @param {string} property
 */
export function colourOf(property) {
	probe ??= document.body.appendChild(document.createElement("i"));
	probe.hidden = true;
	probe.style.color = `var(${property})`;
	return getComputedStyle(probe).color;
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/**
 * `12.3K`, for an axis.
 *
 * @param {number} value
 */
export const shortCount = (value) => compact.format(value);
