import { PalimpsestError } from "../errors.ts";
import { reportContext } from "../operations/report.ts";
import { contextText, styleOfStream } from "../operations/report-text.ts";
import { archiveLocation } from "../storage/archive/open.ts";
import { fileProblem, writeNewFile } from "../storage/files/access.ts";
import {
	type CommonOptions,
	commandConfig,
	printJson,
	readConversationFile,
	type WindowOptions,
	writeOut,
} from "./input-output.ts";
import { withProgress } from "./progress.ts";

/** `palimpsest report FILE` */
export async function report(
	file: string,
	options: CommonOptions & WindowOptions & { readonly json?: boolean; readonly html?: string; readonly all?: boolean },
): Promise<void> {
	const { policy, layers } = await commandConfig(options);
	const conversation = await readConversationFile(file, policy.limits.max_file_bytes);
	const { model, contextWindow, reserveTokens, json, html, all = false } = options;
	const { where } = archiveLocation({ environment: process.env });
	const originals = where === "none" ? "not_archived" : "archived";
	const settings = { conversation, layers, originals, model, contextWindow, reserveTokens } as const;
	const report = await withProgress("counting", () => reportContext(settings));
	if (html !== undefined) {
		const { reportPage } = await import("../pages/page.ts");
		await writePage(html, await reportPage({ report }));
	}
	if (json) printJson(report, 2);
	else await writeOut(contextText(report, { ...styleOfStream(process.stdout, process.env), all }));
}

/** Replaces the file. Throws PalimpsestError `unwritable_file`. */
export async function writePage(file: string, text: string): Promise<void> {
	try {
		await writeNewFile({ file, text, overwrite: true });
	} catch (cause) {
		throw new PalimpsestError("unwritable_file", `Cannot write ${file}: ${fileProblem(cause)}.`, { cause });
	}
}
