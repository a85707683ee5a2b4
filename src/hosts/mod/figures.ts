import type { Prices } from "../../engine/policy/schema.ts";
import { cacheTerms } from "../../proxy/billing/terms.ts";
import { dollarsOfAnswer, inputBill } from "../../proxy/billing/usage.ts";
import { dayFileName } from "../../storage/figures/day-file.ts";
import { type Figure, type FigureLine, isPlainName, writeLine } from "../../storage/figures/line.ts";
import { type Disk, sha256 } from "./disk.ts";
import type { ModSettings } from "./settings.ts";

/** What an answer cost, as Claude Code reports it for each step of a turn. */
export interface StepUsage {
	readonly model: string;
	readonly input_tokens: number;
	readonly output_tokens: number;
	readonly cache_read_input_tokens?: number | null | undefined;
	readonly cache_creation_input_tokens?: number | null | undefined;
	readonly ephemeral_1h_input_tokens?: number | null | undefined;
}

/** No price of the policy: those of the model count (docs/tokens.md). */
const usualPrices = { input: 1, output: 5, cache_read: 0.1, cache_write: 1.25 } as Prices;

/** The figures of a request. `agent` names the subagent that sent it. */
export function requestFigure(
	usage: StepUsage,
	about: { readonly agent?: string | undefined; readonly at: number },
): Figure {
	const { model, input_tokens: input, output_tokens: output } = usage;
	const forHour = usage.ephemeral_1h_input_tokens ?? 0;
	const marked = { cache_control: { type: "ephemeral", ...(forHour > 0 ? { ttl: "1h" } : {}) } };
	const terms = cacheTerms(marked, "anthropic", usualPrices, { model, at: about.at });
	const counts = {
		input,
		cacheRead: usage.cache_read_input_tokens ?? 0,
		cacheWrite: usage.cache_creation_input_tokens ?? 0,
		cacheWriteForHour: forHour,
		output,
	};
	return {
		kind: "request",
		model: plain(model),
		input,
		read: counts.cacheRead,
		write: counts.cacheWrite,
		output,
		left_out: 0,
		billed: inputBill(counts, terms),
		usd: dollarsOfAnswer(counts, terms),
		agent: about.agent === undefined ? undefined : (plain(about.agent) ?? "unnamed"),
	};
}

/** A name that may hold anything else is left out. */
const plain = (name: string) => (isPlainName(name) ? name : undefined);

/**
 * Writes lines of figures. A mod can only write whole files, so that a session has a file of its own for each day. Nothing that goes
 * wrong with a figure reaches the caller.
 */
export function openModFigures(session: string, projectFolder: string, settings: ModSettings) {
	const { figuresFolder, figures: keep } = settings;
	let day = "";
	let text = "";
	let writing: Promise<void> = Promise.resolve();
	const add = async (figure: Figure, at: number, disk: Disk): Promise<void> => {
		const name = dayFileName(at, session);
		const file = `${figuresFolder}/${name}`;
		if (name !== day) text = await disk.read(file).catch(() => "");
		day = name;
		const line = { at, program: "claude", project: await projectOf(projectFolder, keep), ...figure } as FigureLine;
		text += `\n${writeLine(line)}`;
		await disk.write(file, text);
	};
	return {
		add(figure: Figure, at: number, disk: Disk): Promise<void> {
			if (keep !== "none") writing = writing.then(() => add(figure, at, disk)).catch(() => {});
			return writing;
		},
	};
}

/** As `projectName`, for a folder that is absolute. */
async function projectOf(folder: string, keep: ModSettings["figures"]): Promise<string> {
	const hash = (await sha256(folder)).slice(0, 10);
	const last = /[^/\\]*$/
		.exec(folder)?.[0]
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")
		.slice(0, 60)
		.toWellFormed();
	return keep === "private" || !last ? hash : `${hash}/${last}`;
}
