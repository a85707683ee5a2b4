import type { Edit } from "./edit.ts";

/** Whether an edit takes its message out of the conversation: it is dropped, or a summary stands for it. */
export function takesMessageOut({ reason, kind }: Edit): boolean {
	return reason === "drop" || (reason === "summary" && kind !== "insert");
}
