import type { Archive } from "../archive/archive.ts";
import { PalimpsestError } from "../errors.ts";
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
	const goesOn = request.policy.on_archive_failure === "mask_without_recall";
	let lost: PalimpsestError;
	try {
		const result = await once(request);
		if (!goesOn || result.error?.code !== "archive_unavailable") return result;
		lost = result.error;
	} catch (error) {
		// Naming an original fails as storing it does, where what must not be stored cannot be looked for.
		if (!goesOn || !(error instanceof PalimpsestError) || error.code !== "archive_unavailable") throw error;
		lost = error;
	}
	const without = await once({ ...request, archive: undefined });
	const note = `The archive could not be written (${lost.message}), so what was taken out cannot be recalled.`;
	return { ...without, report: { ...without.report, notes: [...without.report.notes, note] } };
}
