/** What something takes whole, and at least. */
export interface Sized {
	readonly full: number;
	readonly least: number;
}

/**
 * Shares room among things so that the small ones are whole and the large ones get the same each (max-min fairness):
 * each gets at least its least and at most what it takes whole. All together get at most `room`, where their least
 * fits it.
 */
export function fillLevel(things: readonly Sized[], room: number): number[] {
	const given = things.map(({ least, full }) => Math.min(least, full));
	let left = room - given.reduce((sum, one) => sum + one, 0);
	const order = things.map((_, index) => index).sort((a, b) => (things[a]?.full ?? 0) - (things[b]?.full ?? 0));
	// The level that each of those still open would reach, small ones first.
	order.forEach((index, place) => {
		const { full } = things[index] as Sized;
		const open = order.length - place;
		const spare = Math.max(0, Math.floor(left / open));
		const least = given[index] as number;
		const more = Math.min(full - least, spare);
		given[index] = least + more;
		left -= more;
	});
	return given;
}
