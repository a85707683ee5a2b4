import { archiveLocation } from "../config/archive-location.ts";
import { contextText } from "../pipeline/report/context-text.ts";
import { reportContext } from "../pipeline/report/report-context.ts";
import { readDocument } from "./read-document.ts";
import { styleOfStream } from "./report/style-of-stream.ts";
import { type CommonOptions, configOf, printJson } from "./shell.ts";
import { writeOut } from "./write-out.ts";

/** The options of `palimpsest report`. */
export interface ReportCommandOptions extends CommonOptions {
	readonly model?: string;
	/** Tokens. */
	readonly contextWindow?: number;
	/** Tokens. */
	readonly reserveTokens?: number;
	readonly json?: boolean;
	/** Where to write the page. */
	readonly html?: string;
}

/** `palimpsest report FILE`: prints what fills the context window, and what each preset would free and cost. */
export async function report(file: string, options: ReportCommandOptions): Promise<void> {
	const { policy, layers } = await configOf(options);
	const document = await readDocument(file, policy.limits.max_file_bytes);
	const { model, contextWindow, reserveTokens, json, html } = options;
	const { where } = archiveLocation({ environment: process.env });
	const report = await reportContext({
		conversation: document.value,
		// A command ends with its answer, so there is no next turn.
		layers,
		originals: where === "none" ? "not_archived" : "archived",
		model,
		contextWindow,
		reserveTokens,
	});
	if (html !== undefined) {
		const [{ reportPage }, { writePage }] = await Promise.all([
			import("../pages/report-page.ts"),
			import("./report/write-page.ts"),
		]);
		await writePage(html, await reportPage({ report }));
	}
	if (json) printJson(report, 2);
	else await writeOut(contextText(report, styleOfStream(process.stdout, process.env)));
}
