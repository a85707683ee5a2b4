import type { Policy } from "../policy/schema.ts";
import type { Archive } from "./archive.ts";
import { openArchive } from "./open-archive.ts";

/** Which archive is meant: its place, as `archivePlace` takes it, and its namespace. */
export interface ArchiveLocation {
	readonly where: string;
	readonly namespace: string;
}

const day = 24 * 3_600_000;

/**
 * Opens an archive that keeps what the policy says for as long as it says; `undefined` for `none`.
 *
 * @throws PalimpsestError as `openArchive`; `invalid_argument` for a pattern of `archive.redact` that is none.
 */
export function openArchiveOfPolicy(
	location: ArchiveLocation,
	policy: Pick<Policy, "archive">,
): Promise<Archive | undefined> {
	const { max_age_days, max_bytes, redact, redact_credentials: redactCredentials } = policy.archive;
	const retention = { maxAgeMs: max_age_days * day, maxBytes: max_bytes };
	return openArchive({ ...location, retention, redact, redactCredentials });
}
