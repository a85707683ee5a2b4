/** What was found out about one thing that has to work. */
export interface Finding {
	/** What was looked at, such as `archive`. */
	readonly name: string;
	readonly state: "ok" | "warning" | "failed";
	/** In a sentence. */
	readonly found: string;
	/** What to do about it; absent where nothing has to be done. */
	readonly advice?: string;
}
