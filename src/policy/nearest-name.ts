import { distance } from "fastest-levenshtein";

const longestComparedName = 100;

/**
 * The known name nearest to a mistyped one, or null where none is near. Names are dotted or underscored paths: a right
 * last part under a wrong parent counts as near. Case, `-` and `_` do not count.
 */
export function nearestName(name: string, known: readonly string[]): string | null {
	if (name.length > longestComparedName) return null;
	const wanted = spelling(name);
	let best: string | null = null;
	let least = Number.POSITIVE_INFINITY;
	for (const candidate of known) {
		const whole = distance(wanted, spelling(candidate));
		const last = distance(lastPart(wanted), lastPart(spelling(candidate))) + 0.5;
		const lastOnly = lastPart(wanted).length > 3 && last < lastPart(wanted).length / 3 + 0.5;
		const apart = lastOnly ? Math.min(whole, last) : whole;
		if (apart < least) {
			best = candidate;
			least = apart;
		}
	}
	return least <= Math.max(2, wanted.length / 3) ? best : null;
}

function spelling(name: string): string {
	return name.toLowerCase().replaceAll(/[_-]/g, "");
}

function lastPart(name: string): string {
	return name.slice(name.lastIndexOf(".") + 1);
}
