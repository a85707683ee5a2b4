import { truncateOutput } from "../engine/truncation/truncate.ts";
import { loadCounter } from "../formats/tokens/counter.ts";
import type { CountJob, CutJob } from "./large-texts.ts";
import { textLibraries } from "./text-libraries.ts";

/** The cut text, or its tokens. */
export async function runLargeText(job: CutJob | CountJob): Promise<string | number> {
	if (job.kind === "cut") return truncateOutput({ ...job.cut, ...textLibraries }).text;
	return (await loadCounter(job.encoding))(job.text);
}
