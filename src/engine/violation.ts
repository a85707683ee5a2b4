/** What every result keeps, whatever the strategy. */
export type KeptPromise =
	| "only_tool_results_edited"
	| "system_messages_kept"
	| "every_edit_shrinks"
	| "untouched_parts_identical"
	| "order_kept"
	| "ids_kept"
	| "pairing_kept"
	| "inserted_as_planned"
	| "start_kept";

/** A promise that a result would have broken, with where, never with what text. */
export interface Violation {
	readonly promise: KeptPromise;
	readonly detail: string;
}
