import type { Size } from "../../engine/edit.ts";
import { startSum } from "../../engine/size.ts";
import { likelyTokens, type TokenScale } from "../../engine/token-scale.ts";

/**
 * The tokens of the parts of a whole on a scale. Rounded so that they add up to the tokens of the whole: each is what its
 * part adds to the sum of those before it.
 */
export function scaleParts(parts: readonly Size[], scale: TokenScale): readonly number[] {
	const sum = startSum();
	let before = 0;
	return parts.map((part) => {
		sum.add(part);
		const after = likelyTokens(sum.total(), scale);
		const own = after - before;
		before = after;
		return own;
	});
}
