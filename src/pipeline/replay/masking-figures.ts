import type { MaskReport } from "../mask-conversation.ts";
import type { MaskingFigures } from "./replay-report.ts";

/** The figures of one masking; nothing where there was none. */
export function maskingFiguresOf(report: MaskReport | undefined): MaskingFigures {
	return {
		masked_tool_results: report?.masked_tool_results ?? 0,
		tool_chars_before: report?.tool_chars.before ?? 0,
		tool_chars_after: report?.tool_chars.after ?? 0,
		tokens_before: report?.tokens.before ?? 0,
		tokens_after: report?.tokens.after ?? 0,
	};
}

/** The figures of two together. */
export function addMaskingFigures(a: MaskingFigures, b: MaskingFigures): MaskingFigures {
	return {
		masked_tool_results: a.masked_tool_results + b.masked_tool_results,
		tool_chars_before: a.tool_chars_before + b.tool_chars_before,
		tool_chars_after: a.tool_chars_after + b.tool_chars_after,
		tokens_before: a.tokens_before + b.tokens_before,
		tokens_after: a.tokens_after + b.tokens_after,
	};
}
