import type { RestoreReport } from "./restore-conversation.ts";

/** What was cut, then masked, takes a round each; a text deeper than this leads in a circle. */
const mostRounds = 8;

/** Restores round after round until nothing more is found, and sums up. */
export async function restoreInRounds<Subject>(
	first: Subject,
	restoreOnce: (subject: Subject) => Promise<{ readonly next: Subject; readonly report: RestoreReport }>,
): Promise<{ readonly last: Subject; readonly report: RestoreReport }> {
	let last = first;
	let [restored, byCallId] = [0, 0];
	const redacted = new Set<string>();
	for (let round = 1; ; round += 1) {
		const { next, report } = await restoreOnce(last);
		restored += report.restored;
		byCallId += report.restored_by_call_id;
		for (const one of report.redacted) redacted.add(one);
		last = next;
		if (report.restored === 0 || round === mostRounds) {
			return { last, report: { ...report, restored, restored_by_call_id: byCallId, redacted: [...redacted] } };
		}
	}
}
