import axe from "axe-core";
import type { Frame, Page } from "playwright-core";

/** How many pixels of each plot are painted, and in how many colours. Run in the page. */
const paintedPixels = `Array.from(document.querySelectorAll("canvas"), (canvas) => {
	const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
	const colours = new Map();
	for (let at = 0; at < data.length; at += 4)
		if (data[at + 3] === 255) {
			const colour = data.slice(at, at + 3).join();
			colours.set(colour, (colours.get(colour) ?? 0) + 1);
		}
	return {
		painted: [...colours.values()].reduce((sum, count) => sum + count, 0),
		colours: [...colours.values()].filter((count) => count > 40).length,
	};
})`;

/** What was drawn, plot by plot in the order of the page. */
export function paintedPlots(page: Page): Promise<{ painted: number; colours: number }[]> {
	return page.evaluate(paintedPixels);
}

/** The picture of each plot, to tell whether it changed. */
export function pictures(page: Page): Promise<string[]> {
	return page.evaluate('Array.from(document.querySelectorAll("canvas"), (canvas) => canvas.toDataURL())');
}

/** What axe-core finds wrong, as rules and elements. Its program runs beside the page's policy, not through it. */
export async function violations(page: Page | Frame): Promise<string[]> {
	await page.evaluate(axe.source);
	const found: { id: string; nodes: { target: string[]; failureSummary: string }[] }[] = await page.evaluate(
		"axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) => violations)",
	);
	return found.flatMap(({ id, nodes }) =>
		nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
	);
}

/** Whether the page can be moved sideways as a whole. */
export function scrollsSideways(page: Page | Frame): Promise<boolean> {
	return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
}

/** Presses the tabulator key until the focus is where it began; says what had it, and whether that could be seen. */
export async function tabThrough(page: Page): Promise<{ name: string; visible: boolean }[]> {
	const met: { name: string; visible: boolean }[] = [];
	for (let presses = 0; presses < 60; presses += 1) {
		await page.keyboard.press("Tab");
		const now: { name: string; visible: boolean } | null = await page.evaluate(`(() => {
			const focused = document.activeElement;
			if (focused === null || focused === document.body) return null;
			const { outlineStyle, outlineWidth } = getComputedStyle(focused);
			const name = focused.id || focused.ariaLabel || focused.textContent;
			return { name: name.trim(), visible: outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 };
		})()`);
		if (now === null || now.name === met[0]?.name) break;
		met.push(now);
	}
	return met;
}
