export type { Archive, ArchiveStats, Found, Listing, Original, Read, Retention, Sweep } from "./archive/archive.ts";
export type { ArchiveOptions } from "./archive/open.ts";
export type {
	CompactionContext,
	CompactionStrategy,
	StrategyDependencies,
	StrategyLlm,
} from "./engine/compaction/strategy.ts";
export { type ErrorCode, PalimpsestError, SummariserError, type SummariserErrorCode } from "./errors.ts";
export type { Splice } from "./json-text/edit.ts";
export { applyEdits, type InverseEdits, invertEdits, type PortableEdit } from "./json-text/edit.ts";
export {
	type CallOptions,
	type CompactOptions,
	type CountOptions,
	compact,
	count,
	type GuardOptions,
	guard,
	mask,
	openArchive,
	type RestoreOptions,
	restore,
	type TruncateOptions,
	truncate,
} from "./library.ts";
export type { CompactOutcome } from "./pipeline/compaction/compact-outcome.ts";
export type { CallerRequest, CompactReport } from "./pipeline/compaction/compact-report.ts";
export type { CompactionOptions } from "./pipeline/compaction/compaction-of-options.ts";
export type { GuardWithCompactionReport as GuardReport } from "./pipeline/compaction/guard-with-compaction.ts";
export type { TextCount } from "./pipeline/count-text.ts";
export type { EditRecord } from "./pipeline/edit-record.ts";
export type { Log, LogEvent } from "./pipeline/log-event.ts";
export type { MaskReport, Outcome } from "./pipeline/mask-conversation.ts";
export type { RestoreReport } from "./pipeline/restore-conversation.ts";
export type { TruncateReport } from "./pipeline/truncate-text.ts";
export type { PolicyLayer } from "./policy/schema.ts";
export { type Policy, policySchema } from "./policy/schema.ts";
export { createOpenAiCompatible, type OpenAiCompatibleOptions } from "./summariser/endpoint.ts";
export type { Summariser, SummaryAnswer, SummaryProgress, SummaryRequest } from "./summariser/summariser.ts";
