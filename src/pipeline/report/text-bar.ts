/** How bars are drawn: with Unicode blocks, an eighth of a character fine; with number signs; or not at all. */
export type BarStyle = "blocks" | "ascii" | "none";

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/**
 * A bar, as long as its part of `width` characters. What is above 0 shows at least a little.
 *
 * @param part from 0 to 1; what is outside is cut
 */
export function textBar(part: number, { width, style }: { readonly width: number; readonly style: BarStyle }): string {
	const share = Math.min(1, Math.max(0, Number.isNaN(part) ? 0 : part));
	if (style === "none" || share === 0) return "";
	if (style === "ascii") return "#".repeat(Math.max(1, Math.round(share * width)));
	const parts = Math.max(1, Math.round(share * width * 8));
	return "█".repeat(parts >> 3) + (eighths[parts & 7] ?? "");
}
