export { type ErrorCode, PalimpsestError } from "./errors.ts";
export { type CallOptions, type GuardOptions, guard, mask, type TruncateOptions, truncate } from "./library.ts";
export type { EditRecord } from "./pipeline/edit-record.ts";
export type { GuardReport } from "./pipeline/guard-conversation.ts";
export type { Log, LogEvent } from "./pipeline/log-event.ts";
export type { MaskReport, Outcome } from "./pipeline/mask-conversation.ts";
export type { TruncateReport } from "./pipeline/truncate-text.ts";
export type { PolicyLayer } from "./policy/policy-layer.ts";
export { type Policy, policySchema } from "./policy/schema.ts";
