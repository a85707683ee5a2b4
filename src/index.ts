export type {
	CompactionContext,
	CompactionStrategy,
	StrategyDependencies,
	StrategyLlm,
} from "./engine/compaction/strategy.ts";
export { type Policy, type PolicyLayer, policySchema } from "./engine/policy/schema.ts";
export { type ErrorCode, PalimpsestError, SummariserError, type SummariserErrorCode } from "./errors.ts";
export {
	applyEdits,
	type InverseEdits,
	invertEdits,
	type PortableEdit,
	type Splice,
} from "./formats/json-text/edit.ts";
export {
	type CallOptions,
	type CompactionOptions,
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
export type { Log, LogEvent } from "./log.ts";
export type { CallerRequest, CompactOutcome, CompactReport } from "./operations/compaction-request.ts";
export type { Outcome } from "./operations/conversation.ts";
export type { TextCount } from "./operations/count.ts";
export type { EditRecord } from "./operations/edit-record.ts";
export type { GuardWithCompactionReport as GuardReport } from "./operations/guard-with-compaction.ts";
export type { MaskReport } from "./operations/mask.ts";
export { createOpenAiCompatible, type OpenAiCompatibleOptions } from "./operations/summariser/endpoint.ts";
export type { Summariser, SummaryAnswer, SummaryProgress, SummaryRequest } from "./operations/summariser/summariser.ts";
export type { TruncateReport } from "./operations/truncate.ts";
export type {
	Archive,
	ArchiveStats,
	Found,
	Listing,
	Original,
	Read,
	Retention,
	Sweep,
} from "./storage/archive/archive.ts";
export type { ArchiveOptions } from "./storage/archive/open.ts";
export type { RestoreReport } from "./storage/restore/restore.ts";
