import { contextText } from "../../pipeline/report/context-text.ts";
import { type ContextReportRequest, reportContext } from "../../pipeline/report/report-context.ts";
import type { ContextAnswer } from "../conversation-call.ts";

const columns = 100;

/**
 * What fills the window of a call's conversation, and the same in words, for hosts that show their model only text.
 *
 * @throws PalimpsestError as `reportContext` does.
 */
export async function contextOfCall(request: ContextReportRequest): Promise<ContextAnswer> {
	const report = await reportContext(request);
	return { report, text: contextText(report, { columns, bars: "none" }) };
}
