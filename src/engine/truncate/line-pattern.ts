const longestRead = 240;

/**
 * A number for what a line has in common with lines that differ in digits, bars and blanks alone: repeated messages with
 * a time, the states of a progress bar. Equal for such lines; 0 for a blank one.
 */
export function linePattern(text: string, start: number, end: number): number {
	const until = Math.min(end, start + longestRead);
	let hash = 0x811c9dc5;
	let before = 0;
	let signs = 0;
	for (let at = start; at < until; at += 1) {
		const unit = text.charCodeAt(at);
		const sign = signOf(unit);
		if (sign === 0 || (sign === before && sign < 4)) continue;
		hash = Math.imul(hash ^ (sign < 4 ? sign : unit), 0x01000193);
		before = sign < 4 ? sign : 0;
		signs += 1;
	}
	return signs === 0 ? 0 : (hash | 1) >>> 0;
}

/** 0 blank, 1 digits and what stands in numbers, 2 bars, 3 other drawing; 4 for what counts as it is. */
function signOf(unit: number): 0 | 1 | 2 | 3 | 4 {
	if (unit === 32 || unit === 9 || unit === 13) return 0;
	if ((unit >= 48 && unit <= 57) || unit === 46) return 1;
	if (unit === 35 || unit === 61 || unit === 62 || unit === 45 || unit === 95) return 2;
	if (unit >= 0x2500 && unit <= 0x28ff) return 2;
	return 4;
}
