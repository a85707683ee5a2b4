import { PalimpsestError } from "../../errors.ts";

/** A call was not begun, since too many others wait. */
export class BusyError extends PalimpsestError {
	declare readonly code: "rate_limit";
	/** In ms from now, the time after which there is likely room, reckoned from how long calls took until now. */
	readonly retry_after_ms: number;

	constructor(retryAfterMs: number) {
		const seconds = Math.ceil(retryAfterMs / 1_000);
		super("rate_limit", `The server is busy: too many calls wait already. Call again in ${seconds} s.`);
		this.retry_after_ms = retryAfterMs;
	}
}
