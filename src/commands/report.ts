import { PalimpsestError } from "../errors.ts";
import { openCatalogue } from "../formats/tokens/model-prices.ts";
import { launchedPrograms } from "../hosts/hosts.ts";
import { reportContext } from "../operations/report.ts";
import { contextText, styleOfStream } from "../operations/report-text.ts";
import { counted, whole } from "../operations/window-words.ts";
import { archiveLocation } from "../storage/archive/open.ts";
import { readFigures } from "../storage/figures/store.ts";
import { type UnusedTools, unusedTools } from "../storage/figures/unused-tools.ts";
import { fileProblem, writeNewFile } from "../storage/files/access.ts";
import {
	type CommonOptions,
	commandConfig,
	printJson,
	readConversationFile,
	shownName,
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
	const unused = await unusedNow();
	if (json) return printJson({ ...report, ...(unused.length > 0 && { unused_tools: unused }) }, 2);
	const text = contextText(report, { ...styleOfStream(process.stdout, process.env), all });
	await writeOut([text, ...unused.map((one) => unusedText(one, all))].join("\n"));
}

const daysRead = 60;

/** By the figures of this machine; those that cannot be read name none. */
async function unusedNow(): Promise<UnusedTools[]> {
	await openCatalogue();
	const since = Date.now() - daysRead * 24 * 3_600_000;
	return unusedTools(readFigures({ since })).catch(() => []);
}

/** A few lines, as all reports of one screen have; `all` names every tool. */
function unusedText({ program, sessions, offered, unused, ...sums }: UnusedTools, all: boolean): string {
	const shown = all ? unused : unused.slice(0, 5);
	const names = shown.map(({ name, tokens }) => `${shownName(name)} (${whole(tokens)})`);
	const more = unused.length > shown.length ? [`${counted(unused.length - shown.length, "more tool")}: --all`] : [];
	const usd = sums.usd_a_day === null ? "" : `, ${sums.usd_a_day.toFixed(2)} US dollars a day`;
	const { title = program ?? "Programs", withoutTool } = launchedPrograms.find(({ name }) => name === program) ?? {};
	const how = withoutTool ?? "palimpsest gateway --except NAME in front of the server";
	return [
		`${shownName(title)}, last ${counted(sessions, "session")}: ${whole(unused.length)} of ${counted(offered, "tool")} never called, ${counted(sums.tokens, "token")} in each request${usd}`,
		`  ${[...names, ...more].join(", ")}`,
		`  to leave one out: ${how}\n`,
	].join("\n");
}

/** Replaces the file. Throws PalimpsestError `unwritable_file`. */
export async function writePage(file: string, text: string): Promise<void> {
	try {
		await writeNewFile({ file, text, overwrite: true });
	} catch (cause) {
		throw new PalimpsestError("unwritable_file", `Cannot write ${file}: ${fileProblem(cause)}.`, { cause });
	}
}
