import { pricesOfModel } from "../../formats/tokens/model-prices.ts";
import type { FigureLine, RequestLine, ToolsLine } from "./line.ts";

/** The tools of a program that no session has called. */
export interface UnusedTools {
	readonly program: string | null;
	/** The latest sessions with a tool call, and when the first of them began, in ms since 1970. */
	readonly sessions: number;
	readonly since: number;
	readonly offered: number;
	/** Those that cost most first. */
	readonly unused: readonly UnusedTool[];
	/** Of a request that offers all of `unused`. */
	readonly tokens: number;
	/** `null` if the price of a model is unknown. */
	readonly usd_a_day: number | null;
}

export interface UnusedTool {
	readonly name: string;
	readonly tokens: number;
	readonly usd_a_day: number | null;
}

/** A tool that so many sessions have not called is not missed in the next. */
export const judgedSessions = 30;
const day = 24 * 3_600_000;

/**
 * Finds, by program, the tools that the newest session of a project still offers and none of the latest sessions has called. Calls of
 * subagents count. A definition is part of the prompt's beginning. It is billed at the price of a read if its request read anything from
 * the cache, at that of a write if it wrote anything, and else as plain input (docs/measure.md#unused-tools).
 */
export async function unusedTools(lines: AsyncIterable<FigureLine>): Promise<UnusedTools[]> {
	const programs = new Map<string | undefined, Map<string, Session>>();
	for await (const line of lines) {
		if (line.kind !== "tools" && (line.kind !== "request" || line.session === undefined)) continue;
		const sessions = programs.get(line.program) ?? new Map<string, Session>();
		programs.set(line.program, sessions);
		const session = sessions.get(line.session as string) ?? newSession(line);
		sessions.set(line.session as string, session);
		if (line.kind === "tools") addTools(session, line);
		else addRequest(session, line);
	}
	return Array.from(programs, ([program, sessions]) => unusedOf(program ?? null, [...sessions.values()])).filter(
		({ sessions, unused }) => sessions > 0 && unused.length > 0,
	);
}

interface Session {
	readonly project: string | undefined;
	readonly isOfSubagent: boolean;
	first: number;
	last: number;
	offered: ReadonlyMap<string, number>;
	readonly called: Set<string>;
	/** US dollars that a token of the prefix has cost in all its requests; `undefined` if a price is unknown. */
	usdPerToken: number | undefined;
}

function newSession({ project, agent, at }: ToolsLine | RequestLine): Session {
	const isOfSubagent = agent !== undefined;
	return { project, isOfSubagent, first: at, last: at, offered: new Map(), called: new Set(), usdPerToken: 0 };
}

function addTools(session: Session, { offered, called, at }: ToolsLine): void {
	session.last = Math.max(session.last, at);
	if (offered) session.offered = new Map(Object.entries(offered));
	for (const name of called) session.called.add(name);
}

function addRequest(session: Session, line: RequestLine): void {
	session.first = Math.min(session.first, line.at);
	session.last = Math.max(session.last, line.at);
	const prices = line.model === undefined ? undefined : pricesOfModel(line.model, line.at);
	if (!prices?.dollars || session.usdPerToken === undefined) {
		session.usdPerToken = undefined;
		return;
	}
	const factor = line.read > 0 ? prices.read : line.write > 0 ? prices.write : 1;
	session.usdPerToken += (factor * prices.dollars.input) / 1_000_000;
}

function unusedOf(program: string | null, all: readonly Session[]): UnusedTools {
	const main = all.filter(({ isOfSubagent, offered }) => !isOfSubagent && offered.size > 0);
	const judged = main.sort((one, other) => other.last - one.last).slice(0, judgedSessions);
	const since = Math.min(...judged.map(({ first }) => first));
	const within = all.filter(({ last }) => last >= since);
	const days = Math.max(1, (Math.max(...judged.map(({ last }) => last)) - since) / day);
	const called = new Set(within.flatMap((session) => [...session.called]));
	const newest = new Map(judged.toReversed().map((session) => [session.project, session]));
	const still = new Map([...newest.values()].flatMap(({ offered }) => [...offered]));
	const unused = Array.from(still, ([name, tokens]) => ({ name, tokens })).filter(
		({ name }) => !isCalled(name, called) && !loadsOthers.test(name),
	);
	const priced = unused.map((tool): UnusedTool => {
		const costs = within.map(({ offered, usdPerToken }) => {
			const tokens = offered.get(tool.name) ?? 0;
			return tokens === 0 ? 0 : usdPerToken === undefined ? undefined : tokens * usdPerToken;
		});
		return { ...tool, usd_a_day: perDay(costs, days) };
	});
	return {
		program,
		sessions: judged.length,
		since,
		offered: still.size,
		unused: priced.sort((one, other) => other.tokens - one.tokens),
		tokens: unused.reduce((sum, { tokens }) => sum + tokens, 0),
		usd_a_day: perDay(
			priced.map(({ usd_a_day: usd }) => usd ?? undefined),
			1,
		),
	};
}

/** Without it, a program sends the definitions that it defers. */
const loadsOthers = /^tool_?search/i;

/** Codex calls a tool of a server by its own name, in a namespace. */
function isCalled(name: string, called: ReadonlySet<string>): boolean {
	const ownName = /^mcp__.+?__(.+)$/.exec(name)?.[1];
	return called.has(name) || (ownName !== undefined && called.has(ownName));
}

function perDay(costs: readonly (number | undefined)[], days: number): number | null {
	const sum = costs.reduce<number | undefined>(
		(so, one) => (so === undefined || one === undefined ? undefined : so + one),
		0,
	);
	return sum === undefined ? null : sum / days;
}
