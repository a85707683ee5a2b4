import { join } from "node:path";
import { parseArgs } from "node:util";
import { installProgram } from "./install-programs.ts";
import { type AgentProgram, programs } from "./programs.ts";
import { type ProgramRun, runProgram } from "./run-program.ts";

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: {
		turns: { type: "string", default: "34" },
		chars: { type: "string", default: "12000" },
		/** Behind the proxy, the model recalls a masked file at the end, which costs a request more. */
		recall: { type: "boolean", default: false },
		/** Keeps the bodies of all requests in this folder. */
		bodies: { type: "string" },
		/** Runs without the proxy only. */
		without: { type: "boolean", default: false },
		verbose: { type: "boolean", default: false },
	},
});
const script = { toolTurns: Number(values.turns), fileChars: Number(values.chars), recalls: values.recall };
const limitSeconds = 600;

const chosen = positionals.length === 0 ? programs : programs.filter(({ name }) => positionals.includes(name));
const unknown = positionals.filter((name) => !programs.some((program) => program.name === name));
if (unknown.length > 0)
	throw new Error(`Expected ${programs.map(({ name }) => name).join(", ")}; got ${unknown.join(", ")}.`);

const columns = ["program", "tokens without → with", "billed without → with", "cache breaks", "right last answer"];
const rows: string[][] = [];
let failed = false;
for (const program of chosen) {
	const row = await compare(program);
	process.stderr.write(`${row.join(" | ")}\n`);
	rows.push(row);
}
process.stdout.write(
	`\n${script.toolTurns} tool turns of ${script.fileChars} characters; a token is four bytes; a cached token costs 0.1, a token written to the cache 1.25 (2 for an hour).\n\n`,
);
process.stdout.write(table([columns, ...rows]));
process.exitCode = failed ? 1 : 0;

async function compare(program: AgentProgram): Promise<string[]> {
	const installed = installProgram(program.package);
	const name = `${program.title} ${installed.version}`;
	if (installed.kind === "absent") return [name, `not installed: ${installed.reason}`];
	const run = (withProxy: boolean) =>
		runProgram({
			program,
			binFolder: installed.binFolder,
			script,
			withProxy,
			bodies: values.bodies && join(values.bodies, `${program.name}-${withProxy ? "with" : "without"}`),
			limitSeconds,
		});
	const without = await run(false);
	say(program, "without", without);
	if (!without.isRight) return [name, `does not run here: ${lastLine(without)}`];
	if (values.without) return [name, grouped(without.totals.sent), grouped(without.totals.billed)];
	const withProxy = await run(true);
	say(program, "with", withProxy);
	failed ||= !withProxy.isRight;
	const [a, b] = [without.totals, withProxy.totals];
	return [
		name,
		`${grouped(a.sent)} → ${grouped(b.sent)} (× ${(b.sent / a.sent).toFixed(2)})`,
		`${grouped(a.billed)} → ${grouped(b.billed)} (× ${(b.billed / a.billed).toFixed(2)})`,
		`${a.cacheBreaks} → ${b.cacheBreaks}`,
		withProxy.isRight ? "yes" : "no",
	];
}

function say(program: AgentProgram, how: string, { code, seconds, output, isRight, paths, totals }: ProgramRun): void {
	process.stderr.write(
		`${program.title} ${how}: exit code ${code}, ${seconds.toFixed(0)} s, ${totals.requests} requests, ${isRight ? "right" : "wrong"}\n`,
	);
	if (!isRight || values.verbose) process.stderr.write(`${output.slice(-4000)}\n${[...new Set(paths)].join("\n")}\n`);
}

function lastLine({ output, code }: ProgramRun): string {
	const lines = output.split("\n").filter((line) => line.trim() !== "");
	return `exit code ${code}, ${lines.at(-1)?.slice(0, 100) ?? "no output"}`;
}

function grouped(count: number): string {
	return Math.round(count)
		.toString()
		.replace(/\B(?=(\d{3})+$)/g, " ");
}

function table(lines: readonly (readonly string[])[]): string {
	const filled = lines.map((cells) => [...cells, ...columns.slice(cells.length).map(() => "")]);
	const [head = "", ...body] = filled.map((cells) => `| ${cells.join(" | ")} |`);
	const rule = `|${columns.map(() => "---").join("|")}|`;
	return `${[head, rule, ...body].join("\n")}\n`;
}
