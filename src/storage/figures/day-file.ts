/**
 * The file of a day, by UTC, to which every process appends: `2026-11-28.jsonl`. A writer that cannot append has one of its own:
 * `2026-11-28.NAME.jsonl`.
 */
export function dayFileName(time: number, writer?: string): string {
	const day = new Date(time).toISOString().slice(0, 10);
	return writer === undefined ? `${day}.jsonl` : `${day}.${writer.replace(/[^\w-]/g, "").slice(0, 40)}.jsonl`;
}

export const isDayFile = (name: string): boolean => /^\d{4}-\d{2}-\d{2}(?:\.[\w-]{1,40})?\.jsonl$/.test(name);
