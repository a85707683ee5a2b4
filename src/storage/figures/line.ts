import { createHash } from "node:crypto";
import path from "node:path";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";

/** Where a figure comes from. */
interface Origin {
	/** In ms since 1970. */
	readonly at: number;
	/** The caller of a proxy that has several. */
	readonly person?: string | undefined;
	/** Such as `claude`; absent if it is not known. */
	readonly program?: string | undefined;
	/** A hash of the folder, and its last name unless figures are private. */
	readonly project?: string | undefined;
}

/** A request to a model. Tokens are the provider's. Bills are those of the input, in prices of an input token. */
export interface RequestLine extends Origin {
	readonly kind: "request";
	readonly model?: string | undefined;
	/** Neither read from the provider's cache nor written to it. */
	readonly input: number;
	readonly read: number;
	readonly write: number;
	readonly output: number;
	readonly left_out: number;
	readonly billed: number;
	/** The bill of the same request unedited; absent if it is unknown. */
	readonly unedited?: number | undefined;
	/** US dollars with the output; absent if the price of the model is unknown. */
	readonly usd?: number | undefined;
	readonly usd_unedited?: number | undefined;
	/** A name of its conversation, from its first tool turn on. */
	readonly session?: string | undefined;
	/** Results whose form was decided with this request. */
	readonly decisions?: number | undefined;
	readonly held_out?: true | undefined;
	/** The subagent that sent it; absent for the main agent, and for programs that do not name them. */
	readonly agent?: string | undefined;
	/** Why it got no new decisions. */
	readonly undecided?: string | undefined;
	/** Whether the tokens are our count, since the answer told none that can be read; the output is unknown. */
	readonly estimated?: true | undefined;
	/** Whether nothing is known of its tokens. */
	readonly unknown?: true | undefined;
	/** Whether the answer was cut before it told its output, which is not in here. */
	readonly cut?: true | undefined;
}

/** A request of our own: it kept a cache warm, or asked for a summary. */
export interface PingLine extends Origin {
	readonly kind: "ping";
	readonly summary?: true | undefined;
	readonly model?: string | undefined;
	readonly billed: number;
	readonly usd?: number | undefined;
}

/** A request that was refused, and sent again in another form. */
export interface RefusalLine extends Origin {
	readonly kind: "refusal";
	readonly model?: string | undefined;
}

/** A tool's result that was cut before the program saw it. */
export interface ResultLine extends Origin {
	readonly kind: "result";
	readonly by: "hook" | "plugin" | "gateway";
	readonly chars_before: number;
	readonly chars_after: number;
}

/** A request with less read from the provider's cache than was sent before. */
export interface BreakLine extends Origin {
	readonly kind: "break";
	readonly model?: string | undefined;
	/** One of `breakCauses`, or one of a newer version. */
	readonly cause: string;
	/** Sent before and again, and not read from the cache. */
	readonly tokens: number;
	/** US dollars that they cost more than reading them. */
	readonly usd?: number | undefined;
	/** MCP servers whose tools changed, by names that hold no text. */
	readonly servers?: readonly string[] | undefined;
}

/** Tools of a conversation: when they come or change, and when one is called for the first time. Names that hold text are hashed. */
export interface ToolsLine extends Origin {
	readonly kind: "tools";
	readonly session: string;
	readonly agent?: string | undefined;
	/** By name, the tokens of each definition in a request, as we count; absent where they are those of the line before. */
	readonly offered?: Readonly<Record<string, number>> | undefined;
	readonly called: readonly string[];
}

export type FigureLine = RequestLine | PingLine | RefusalLine | ResultLine | BreakLine | ToolsLine;

/** A line as the process makes it, which adds its origin. */
export type Figure = FigureLine extends infer Line
	? Line extends FigureLine
		? Omit<Line, keyof Origin>
		: never
	: never;

/** A line of JSON without zeros and absent values, so that a year of them has room. */
export function writeLine(line: FigureLine): string {
	const entries = Object.entries(line).filter(([, value]) => value !== undefined && value !== 0);
	return JSON.stringify(Object.fromEntries(entries.map(([name, value]) => [name, short(name, value)])));
}

/**
 * `undefined` for a line that was cut off or damaged, and for a kind that a newer version writes. What is optional and has
 * another form counts as absent.
 */
export function readLine(text: string): FigureLine | undefined {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	if (!isJsonObject(value) || !isAmount(value.at) || value.at > latestTime) return undefined;
	switch (value.kind) {
		case "request":
			return withNumbers(value, ["input", "read", "write", "output", "left_out", "billed"]);
		case "ping":
			return withNumbers(value, ["billed"]);
		case "refusal":
			return withNumbers(value, []);
		case "break":
			return typeof value.cause === "string" ? withNumbers(value, ["tokens"]) : undefined;
		case "tools":
			return isText(value.session) && isListOfTexts(value.called) ? withNumbers(value, []) : undefined;
		case "result":
			return withNumbers(value, ["chars_before", "chars_after"]);
		default:
			return undefined;
	}
}

/** A name in a request may hold anything. One that looks like no name of a model is hashed. */
export function modelName(name: string): string {
	return isPlainName(name) ? name : `unnamed ${hashOf(name).slice(0, 8)}`;
}

export const isPlainName = (name: string): boolean => /^[\w.:@/[\]-]{1,80}$/.test(name);

/** The name of a subagent, which its program chooses. */
export const agentName = modelName;

const programs: Readonly<Record<string, string>> = {
	"claude-cli": "claude",
	"claude-code": "claude",
	codex_cli_rs: "codex",
	codex_exec: "codex",
	"codex-tui": "codex",
	geminicli: "gemini",
	"gemini-cli": "gemini",
	"copilot-cli": "copilot",
};

/** One name for a program, whether `launch`, a hook or a `User-Agent` header names it. */
export function programName(given: string | undefined): string | undefined {
	const name = /^[a-z][\w.-]{1,40}(?=[/ ]|$)/i.exec(given ?? "")?.[0].toLowerCase();
	return name === undefined ? undefined : (programs[name] ?? name);
}

/** Names a folder. Equal folders have equal names. */
export function projectName(folder: string, { isPrivate }: { readonly isPrivate: boolean }): string {
	const absolute = path.resolve(folder);
	const hash = hashOf(absolute).slice(0, 10);
	const last = folderName(absolute);
	return isPrivate || last === "" ? hash : `${hash}/${last}`;
}

/** The name that a caller gives its project, on one line. */
export function projectOfCaller(name: string, { isPrivate }: { readonly isPrivate: boolean }): string {
	return isPrivate ? hashOf(name).slice(0, 10) : folderName(`/${name}`);
}

/** The last name of a folder on one line; empty for the root. */
export function folderName(folder: string): string {
	const last = path.basename(path.resolve(folder)).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ");
	return last.slice(0, 60).toWellFormed();
}

function hashOf(text: string): string {
	return createHash("sha256").update(text).digest("hex");
}

/** Keeps sums right, also of requests that cost less than a cent. */
const digitsOfDollars = 5;

function short(name: string, value: unknown): unknown {
	if (typeof value !== "number") return value;
	return name.startsWith("usd") ? Number(value.toPrecision(digitsOfDollars)) : Math.round(value);
}

/** The last time that a `Date` can hold. */
const latestTime = 8.64e15;

function isAmount(value: unknown): value is number {
	return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

const isText = (value: unknown): boolean => typeof value === "string";
const isListOfTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

/** What a line may have, and its form. */
const optional = new Map<string, (value: unknown) => boolean>([
	...["unedited", "usd", "usd_unedited", "decisions"].map((name) => [name, isAmount] as const),
	...["person", "program", "project", "model", "agent", "undecided", "session"].map((name) => [name, isText] as const),
	["servers", isListOfTexts],
	["offered", (value) => isJsonObject(value) && Object.values(value).every(isAmount)],
]);

function withNumbers(value: JsonObject, names: readonly string[]): FigureLine | undefined {
	const numbers = names.map((name) => [name, value[name] ?? 0] as const);
	if (!numbers.every(([, number]) => isAmount(number))) return undefined;
	const sound: Record<string, unknown> = { ...value, ...Object.fromEntries(numbers) };
	for (const [name, isSound] of optional) if (sound[name] !== undefined && !isSound(sound[name])) delete sound[name];
	return sound as unknown as FigureLine;
}
