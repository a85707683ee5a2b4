import type { Archive } from "../archive/archive.ts";
import type { PalimpsestError } from "../errors.ts";
import type { Policy } from "../policy/schema.ts";

interface ArchivingRequest {
	readonly policy: Policy;
	readonly archive?: Archive | undefined;
}

interface MayFail {
	readonly report: { readonly notes: readonly string[] };
	readonly error?: PalimpsestError;
}

/**
 * Does something that archives, and where the archive cannot be written and the policy allows it, does it again without:
 * its placeholders then promise nothing.
 */
export async function despiteArchive<Request extends ArchivingRequest, Result extends MayFail>(
	request: Request,
	once: (request: Request) => Promise<Result>,
): Promise<Result> {
	const result = await once(request);
	const isLost = result.error?.code === "archive_unavailable";
	if (!isLost || request.policy.on_archive_failure !== "mask_without_recall") return result;
	const without = await once({ ...request, archive: undefined });
	const note = `The archive could not be written (${result.error?.message}), so what was taken out cannot be recalled.`;
	return { ...without, report: { ...without.report, notes: [...without.report.notes, note] } };
}
