import type { BeforeAndAfter, CallReport } from "./call-end.ts";

/** What of a tool's report counts something: its numbers and flags, how long its lists are, what was before and is after. */
export function callReport(report: unknown): CallReport | undefined {
	if (typeof report !== "object" || report === null) return undefined;
	const counts: Record<string, number | boolean | BeforeAndAfter> = {};
	for (const [name, value] of Object.entries(report) as [string, unknown][]) {
		const count = countOf(value);
		if (count !== undefined) counts[name] = count;
	}
	return counts;
}

function countOf(value: unknown): number | boolean | BeforeAndAfter | undefined {
	if (typeof value === "number" || typeof value === "boolean") return value;
	if (Array.isArray(value)) return value.length;
	const { before, after } = (value ?? {}) as { readonly before?: unknown; readonly after?: unknown };
	return typeof before === "number" && typeof after === "number" ? { before, after } : undefined;
}
