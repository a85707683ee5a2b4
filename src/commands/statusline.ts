import { closeSync, fstatSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { isJsonObject } from "../engine/conversation/json.ts";
import { pricesInTable } from "../formats/tokens/price-table.ts";
import { readFigures } from "../storage/figures/store.ts";

// Claude Code draws the line after each answer, so this file loads little: no schema, no tokenizer, no catalogue.

const flags = ["--shell"];

/** Returns `false` for any other command line. Whatever is missing is left out of the line; nothing fails. */
export async function answerStatusline(parameters: readonly string[]): Promise<boolean> {
	const [command, ...given] = parameters;
	if (command !== "statusline" || given.some((one) => !flags.includes(one))) return false;
	const now = Date.now();
	const today = await figuresOfToday(now);
	const shown = given.includes("--shell") ? ofLastRequest(today) : ofClaudeCode(readInput());
	// The streams of a process take some milliseconds to open.
	writeSync(1, `${lineOf({ ...shown, saved: today.saved }, now)}\n`);
	return true;
}

/** The last request of a conversation. */
interface Shown {
	readonly model?: string | undefined;
	readonly tokens?: number | undefined;
	readonly window?: number | undefined;
	/** In ms since 1970. */
	readonly answered?: number | undefined;
	readonly cacheMinutes?: number | undefined;
}

interface Today {
	/** US dollars. */
	readonly saved: number;
	readonly last?: { readonly at: number; readonly model: string | undefined; readonly tokens: number };
}

async function figuresOfToday(now: number): Promise<Today> {
	const midnight = new Date(now).setHours(0, 0, 0, 0);
	let saved = 0;
	let last: Today["last"];
	try {
		for await (const line of readFigures({ since: midnight, until: now })) {
			if (line.kind === "ping") saved -= line.usd ?? 0;
			if (line.kind !== "request") continue;
			if (line.usd !== undefined && line.usd_unedited !== undefined) saved += line.usd_unedited - line.usd;
			last = { at: line.at, model: line.model, tokens: line.input + line.read + line.write };
		}
	} catch {
		// Figures cannot be read: nothing is said of them.
	}
	return { saved, ...(last && { last }) };
}

function ofLastRequest({ last }: Today): Shown {
	if (!last) return {};
	return { model: last.model, tokens: last.tokens, answered: last.at };
}

function readInput(): Record<string, unknown> {
	try {
		const input: unknown = JSON.parse(readFileSync(0, "utf8"));
		return isJsonObject(input) ? input : {};
	} catch {
		return {};
	}
}

/** Source: https://code.claude.com/docs/en/statusline. Every field may be absent. */
function ofClaudeCode(input: Readonly<Record<string, unknown>>): Shown {
	const [model, context] = [input.model, input.context_window].map((one) => (isJsonObject(one) ? one : {}));
	const usage = isJsonObject(context?.current_usage) ? context.current_usage : {};
	const counted = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map((name) =>
		numberIn(usage[name]),
	);
	const tokens = counted.reduce((sum, one) => sum + one, 0);
	const id = model?.id;
	const transcript = typeof input.transcript_path === "string" ? lastAnswerIn(input.transcript_path) : {};
	return {
		model: typeof id === "string" ? id : undefined,
		tokens: tokens || undefined,
		window: numberIn(context?.context_window_size) || undefined,
		...transcript,
	};
}

const numberIn = (value: unknown): number => (typeof value === "number" && value > 0 ? value : 0);

/** The end of a session file that is read: an answer has its usage in its first block. */
const tailBytes = 256 * 1024;

function lastAnswerIn(file: string): Pick<Shown, "answered" | "cacheMinutes"> {
	try {
		const answers = endOf(file).split("\n").filter(isAnswer);
		const time = Date.parse(/"timestamp":"(?<time>[^"]{10,40})"/.exec(answers.at(-1) ?? "")?.groups?.time ?? "");
		// An answer that wrote nothing tells no lifetime.
		const written = answers.findLast((line) => /"ephemeral_(?:1h|5m)_input_tokens":[1-9]/.test(line));
		const isHour = /"ephemeral_1h_input_tokens":[1-9]/.test(written ?? "");
		return Number.isNaN(time) ? {} : { answered: time, cacheMinutes: isHour ? 60 : 5 };
	} catch {
		return {};
	}
}

/** An answer of the provider in the main conversation. Claude Code notes an error as an answer of its own. */
function isAnswer(line: string): boolean {
	const isOther = line.includes('"isSidechain":true') || line.includes('"model":"<synthetic>"');
	return line.includes('"type":"assistant"') && line.includes('"usage"') && !isOther;
}

function endOf(file: string): string {
	const handle = openSync(file, "r");
	try {
		const { size } = fstatSync(handle);
		const bytes = Buffer.alloc(Math.min(size, tailBytes));
		return bytes.toString("utf8", 0, readSync(handle, bytes, 0, bytes.length, size - bytes.length));
	} finally {
		closeSync(handle);
	}
}

function lineOf(
	{ model, tokens, window, answered, cacheMinutes, saved }: Shown & { readonly saved: number },
	now: number,
) {
	const prices = model === undefined ? undefined : pricesInTable(model.toLowerCase().replace(/\[1m\]$/, ""));
	const steps = (prices?.steps ?? []).map(({ over }) => over).sort((a, b) => a - b);
	const passed = tokens === undefined ? undefined : steps.findLast((over) => tokens > over);
	const next = tokens === undefined ? undefined : steps.find((over) => tokens <= over);
	const of = window === undefined ? "" : ` of ${thousands(window)} (${Math.round((100 * (tokens ?? 0)) / window)} %)`;
	const lives = cacheMinutes ?? prices?.minutes ?? 5;
	const left = answered === undefined ? undefined : lives - Math.max(0, now - answered) / 60_000;
	return [
		...(tokens === undefined ? [] : [`context ${thousands(tokens)}${of}`]),
		...(passed === undefined ? [] : [`over the price step at ${thousands(passed)}`]),
		...(next === undefined ? [] : [`price step at ${thousands(next)}`]),
		...(left === undefined ? [] : [left > 0 ? `cache warm for ${Math.ceil(left)} min` : "cache cold"]),
		...(saved > 0.005 ? [`saved $${saved.toFixed(2)} today`] : []),
	].join(" · ");
}

function thousands(tokens: number): string {
	if (tokens >= 1_000_000) return `${(tokens / 1_000_000).toFixed(tokens % 1_000_000 === 0 ? 0 : 1)} M`;
	return `${Math.round(tokens / 1_000)} k`;
}
