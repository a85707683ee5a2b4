import type { PartRequest } from "../archive/part.ts";
import { encodeText } from "../archive/text-bytes.ts";
import { ownCommandLine } from "../hosts/own-command.ts";
import { type NextPart, type RecalledListing, type RecalledPart, recallOriginal } from "../operations/recall.ts";
import {
	type ArchiveCommandOptions,
	commandConfig,
	printJson,
	say,
	show,
	withOwnArchive,
	writeOut,
} from "./input-output.ts";
import { refuseUsage } from "./usage.ts";

interface RecallOptions extends ArchiveCommandOptions, PartRequest {
	readonly toolCallId?: string;
	readonly all?: boolean;
	readonly json?: boolean;
}

/** `palimpsest recall REF` */
export async function recall(ref: string | undefined, options: RecallOptions): Promise<void> {
	const { toolCallId, lines, chars, grep, context, head, tail, maxTokens, all = false, json } = options;
	if ((ref === undefined) === (toolCallId === undefined)) {
		refuseUsage("expected either REF or --tool-call-id, and not both");
	}
	const { policy } = await commandConfig(options);
	const part = { lines, chars, grep, context, head, tail, maxTokens };
	await withOwnArchive(options, policy, async (archive) => {
		const recalled = await recallOriginal({ archive, policy, ref, toolCallId, ...part });
		if (recalled.kind === "several") {
			if (json) printJson({ originals: recalled.originals }, 2);
			else show(recalled.originals.map(row).join(""));
			say(`${recalled.originals.length} originals have this tool call id; recall one by its ref`);
		} else if (recalled.kind === "part") {
			const { part: found } = recalled;
			if (json) return printJson(found, 2);
			if (!all) process.stdout.write(found.text);
			else {
				await archive.read(found.ref, async (pieces) => {
					for await (const piece of pieces) for (const bytes of encodeText(piece)) await writeOut(bytes);
				});
			}
			say(described(found, all));
		}
	});
}

function row({ ref, kind, tool_name, chars, archived_at }: RecalledListing): string {
	return `${[ref, kind, tool_name ?? "-", `${chars} chars`, archived_at].join("\t")}\n`;
}

function described(part: RecalledPart, isWhole: boolean): string {
	const { kind, tool_name, total, shown, matches, redactions, next } = part;
	const lines = shown
		? `lines ${shown.lines.first}-${shown.lines.last} of ${total.lines}`
		: `none of ${total.lines} lines`;
	return [
		`${kind}${tool_name === undefined ? "" : ` of ${tool_name}`}`,
		isWhole ? `all ${total.lines} lines` : lines,
		...(matches ? [`${matches.shown} of ${matches.found} matches`] : []),
		...(redactions > 0 ? [`${redactions} places redacted before it was kept`] : []),
		...(next && !isWhole ? [`more: ${ownCommandLine()} recall ${flags(next)}`] : []),
	].join("; ");
}

function flags({ ref, ...rest }: NextPart): string {
	const quoted = (value: string | number) =>
		/^[\w.-]+$/.test(String(value)) ? value : `'${String(value).replaceAll("'", "'\\''")}'`;
	const given = Object.entries(rest).map(([name, value]) => `--${name.replaceAll("_", "-")} ${quoted(value)}`);
	return [ref, ...given].join(" ");
}
