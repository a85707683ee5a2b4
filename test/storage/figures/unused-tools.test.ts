import { describe, expect, it } from "vitest";
import { type FigureLine, readLine, writeLine } from "../../../src/storage/figures/line.ts";
import { judgedSessions, unusedTools } from "../../../src/storage/figures/unused-tools.ts";

const day = 24 * 3_600_000;
const start = Date.UTC(2026, 10, 1);
const origin = { program: "claude", project: "p" } as const;

interface Played {
	readonly at?: number;
	readonly offered?: Readonly<Record<string, number>>;
	readonly called?: readonly string[];
	readonly more?: object;
	readonly requests?: readonly object[];
}

const offered = { Bash: 1_000, Read: 500, NotebookEdit: 300, mcp__files__read: 200, mcp__files__write: 100 };

/** The lines of a session as the proxy writes them and the command reads them. */
function session(name: string, { at = start, called = ["Bash"], more = {}, requests, ...rest }: Played): FigureLine[] {
	const request = { kind: "request", model: "claude-opus-5-5", input: 9, read: 0, write: 0, output: 9, left_out: 0 };
	const lines = [
		{ ...origin, at, kind: "tools", session: name, offered: rest.offered ?? offered, called, ...more },
		...(requests ?? [{}]).map((one) => ({ ...origin, at, billed: 9, session: name, ...request, ...more, ...one })),
	];
	return lines.flatMap((line) => readLine(writeLine(line as FigureLine)) ?? []);
}

async function* stream(lines: readonly FigureLine[]) {
	yield* lines;
}
const found = (...sessions: readonly FigureLine[][]) => unusedTools(stream(sessions.flat()));
const names = (all: Awaited<ReturnType<typeof unusedTools>>) =>
	all.flatMap(({ unused }) => unused.map((one) => one.name));

describe("tools that no session has called", () => {
	it("are named by program, the largest first, with their tokens and what their requests cost", async () => {
		const [one, ...others] = await found(
			session("a", { requests: [{ write: 5_000 }, { read: 5_000 }, { read: 5_000 }] }),
			session("b", { at: start + 4 * day, called: ["Read"], requests: [{}] }),
		);
		expect(others).toEqual([]);
		expect(one).toMatchObject({ program: "claude", sessions: 2, offered: 5, since: start, tokens: 600 });
		expect(one?.unused.map(({ name, tokens }) => [name, tokens])).toEqual([
			["NotebookEdit", 300],
			["mcp__files__read", 200],
			["mcp__files__write", 100],
		]);
		// Written, read twice and neither: by the prices of the model, over four days.
		const { pricesOfModel } = await import("../../../src/formats/tokens/model-prices.ts");
		const prices = pricesOfModel("claude-opus-5-5", start);
		const factors = (prices?.write ?? 0) + 2 * (prices?.read ?? 0) + 1;
		const usd = (300 * factors * (prices?.dollars?.input ?? 0)) / 1_000_000 / 4;
		expect(one?.unused[0]?.usd_a_day).toBeCloseTo(usd, 9);
		expect(one?.usd_a_day).toBeCloseTo(2 * usd, 9);
	});

	it("are not those that a subagent calls, that are called by their own name, or that are offered no longer", async () => {
		const all = await found(
			session("old", { offered: { ...offered, Gone: 50 } }),
			session("sub", { at: start + 1, called: ["NotebookEdit"], more: { agent: "x" } }),
			session("new", { at: start + day, called: ["read"], offered: { ...offered, ToolSearch: 9 } }),
		);
		expect(names(all)).toEqual(["Read", "mcp__files__write"]);
		expect(all[0]?.sessions).toBe(2);
	});

	it("are judged by the last sessions alone", async () => {
		const later = Array.from({ length: judgedSessions }, (_, number) =>
			session(`s${number}`, { at: start + (number + 1) * day }),
		);
		expect(names(await found(session("first", { called: ["Read"] }), ...later))).toContain("Read");
		expect(names(await found(session("first", { called: ["Read"] }), ...later.slice(1)))).not.toContain("Read");
	});

	it("have no dollars where a price is unknown, and none are named where all are called", async () => {
		const [one] = await found(session("a", { requests: [{ model: "nobody-1" }] }));
		expect([one?.usd_a_day, one?.unused[0]?.usd_a_day]).toEqual([null, null]);
		expect(await found(session("a", { called: Object.keys(offered) }))).toEqual([]);
		expect(await found()).toEqual([]);
	});

	it("are read from whole lines alone", () => {
		const line = { ...origin, at: start, kind: "tools", session: "a", called: ["Bash"] };
		expect(readLine(JSON.stringify({ ...line, called: [1] }))).toBeUndefined();
		expect(readLine(JSON.stringify({ ...line, session: 1 }))).toBeUndefined();
		expect(readLine(JSON.stringify({ ...line, offered: { Bash: "x" } }))).toEqual(line);
	});
});
