export type { Archive, ArchiveStats, Found, Listing, Original, Read, Retention, Sweep } from "./archive/archive.ts";
export { type ArchiveOptions, openArchive } from "./archive/open-archive.ts";
export { applyEdits, type InverseEdits, invertEdits, type PortableEdit } from "./documents/apply-edits.ts";
export type { Splice } from "./documents/list-splices.ts";
export { type ErrorCode, PalimpsestError } from "./errors.ts";
export {
	type CallOptions,
	type CountOptions,
	count,
	type GuardOptions,
	guard,
	mask,
	restore,
	type TruncateOptions,
	truncate,
} from "./library.ts";
export type { TextCount } from "./pipeline/count-text.ts";
export type { EditRecord } from "./pipeline/edit-record.ts";
export type { GuardReport } from "./pipeline/guard-conversation.ts";
export type { Log, LogEvent } from "./pipeline/log-event.ts";
export type { MaskReport, Outcome } from "./pipeline/mask-conversation.ts";
export type { RestoreReport } from "./pipeline/restore-conversation.ts";
export type { TruncateReport } from "./pipeline/truncate-text.ts";
export type { PolicyLayer } from "./policy/policy-layer.ts";
export { type Policy, policySchema } from "./policy/schema.ts";
