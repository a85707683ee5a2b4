import type { Edit } from "../../engine/edit.ts";
import type { CallerRequest, CompactionResult, SummaryReport } from "./compact-report.ts";

/** What a strategy wants done. */
export type PlannedCompaction =
	| { readonly kind: "unchanged" }
	| {
			readonly kind: "edits";
			readonly edits: readonly Edit[];
			readonly result: Extract<CompactionResult, "hidden" | "summarised" | "rewritten">;
			readonly summary?: SummaryReport;
	  }
	| { readonly kind: "request"; readonly request: CallerRequest }
	| { readonly kind: "guard" };
