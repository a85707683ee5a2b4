/** The three ways to write a date in HTTP (RFC 9110, section 5.6.7) begin with a day of the week. */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * What a `Retry-After` field asks for (RFC 9110, section 10.2.3), in ms from `now`: seconds or a date. `undefined` where
 * it is absent or makes no sense, and where it asks for no wait at all, since a server that just refused a request is
 * better left the usual wait.
 */
export function parseRetryAfter(field: string | null | undefined, now: number): number | undefined {
	const value = field?.trim() ?? "";
	let ms: number;
	if (/^\d+(?:\.\d+)?$/.test(value)) ms = Number(value) * 1_000;
	else if (httpDate.test(value)) ms = Date.parse(value) - now;
	else return undefined;
	return ms > 0 ? Math.ceil(ms) : undefined;
}
