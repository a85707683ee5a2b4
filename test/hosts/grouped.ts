/** Thousands apart. */
export function grouped(count: number): string {
	return Math.round(count)
		.toString()
		.replace(/\B(?=(\d{3})+$)/g, " ");
}
