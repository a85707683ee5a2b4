import { join } from "node:path";
import { parseArgs } from "node:util";
import { claudePrices } from "../support/claude-models.ts";
import type { SessionScript } from "../support/scripted-session.ts";
import type { CloudName } from "../support/stand-in-cloud.ts";
import { usualPrices } from "../support/stand-in-provider.ts";
import { startBusy } from "./busy.ts";
import { grouped } from "./grouped.ts";
import { installProgram } from "./install-programs.ts";
import { type AgentProgram, claudeAtAnthropic, claudeOnCloud, programs } from "./programs.ts";
import { agentColumns, agentRows, agentsNote, agentsScript, hasAgent } from "./run-agents.ts";
import { compactionColumns, compactSession } from "./run-compaction.ts";
import { corporateColumns, runInNetwork } from "./run-corporate.ts";
import { type ProgramRun, runProgram, type Way } from "./run-program.ts";
import { rescueColumns, rescueSession } from "./run-rescue.ts";
import { keepsThinking, strictColumns, strictNote, strictRow, strictThinking } from "./strict-row.ts";

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
		/** Runs programs in these ways only: proxy, plugin, hook, mod; several with commas between. */
		ways: { type: "string", default: "proxy,plugin,hook,mod" },
		/** Plays a session, rescues it, and resumes it. */
		rescue: { type: "boolean", default: false },
		/** Against a stand-in that checks thinking as Anthropic's API does, alone and behind the proxy. */
		strict: { type: "boolean", default: false },
		/** Of a strict run and of agents, in programs that can be told; another can be named in PALIMPSEST_HOSTS_MODEL. */
		model: { type: "string" },
		/** Claude Code that takes the stand-in for Anthropic itself. */
		"first-party": { type: "boolean", default: false },
		/** Claude Code on this cloud: bedrock, mantle, vertex or foundry. */
		cloud: { type: "string" },
		/** Settings of the proxy's policy, as of `palimpsest launch --set`. */
		set: { type: "string", multiple: true, default: [] },
		/** Lets the program compact by itself, with and without our hook. */
		compaction: { type: "boolean", default: false },
		/** In a network that only a proxy with a password leads out of, alone and with `palimpsest launch`. */
		"corporate-proxy": { type: "boolean", default: false },
		/** The agent asks for masking in its own conversation, is resumed, and searches the originals. */
		agents: { type: "boolean", default: false },
		/** Processes that keep the processors busy beside the programs. */
		busy: { type: "string", default: "0" },
		verbose: { type: "boolean", default: false },
	},
});
/** The last turn needs a result of so many turns before. */
const oldTurns = 25;
const script: SessionScript = values.agents
	? agentsScript
	: values.compaction
		? { toolTurns: 3, fileChars: 60_000, recalls: false }
		: {
				toolTurns: Number(values.turns),
				fileChars: Number(values.chars),
				recalls: values.recall,
				// A shorter session has no result that is so old.
				...(Number(values.turns) > oldTurns ? { needsOld: oldTurns } : {}),
			};
/** Every account of Fable 5.2 is checked, so an agent's session has no refusal to learn from. */
const usualModel = values.agents ? "claude-fable-5-2" : "claude-opus-5-5";
const model = values.model ?? process.env.PALIMPSEST_HOSTS_MODEL ?? usualModel;
/** Two large outputs; then the model recalls one. */
const large = { toolTurns: 2, fileChars: 60_000, recalls: true };
const limitSeconds = values.busy === "0" ? 600 : 3_600;
/** Of the tokens without, and characters of a large output: above them, nothing was saved. */
const mostSent = 0.9;
/** They cut large results as these arrive, and mask nothing later. */
const cutsOnly: ReadonlySet<Way> = new Set(["hook", "mod"]);
const mostShown = 20_000;

const cloud = values.cloud as CloudName | undefined;
const chosen = cloud
	? [claudeOnCloud(cloud)]
	: values["first-party"]
		? [claudeAtAnthropic()]
		: positionals.length === 0
			? programs
			: programs.filter(({ name }) => positionals.includes(name));
const unknown = positionals.filter((name) => !programs.some((program) => program.name === name));
if (unknown.length > 0)
	throw new Error(`Expected ${programs.map(({ name }) => name).join(", ")}; got ${unknown.join(", ")}.`);

const usualColumns = [
	"program",
	"with",
	"tokens without → with",
	"billed without → with",
	"cache breaks",
	"right last answer",
	"refused",
	"result of 25 turns before",
	"60 000 characters",
	"recall",
	"placeholders stored",
];
const columns = values["corporate-proxy"]
	? corporateColumns
	: values.agents
		? agentColumns
		: values.strict
			? strictColumns
			: values.rescue
				? rescueColumns
				: values.compaction
					? compactionColumns
					: usualColumns;
/** In tokens: the usual session is over it, and half of it has room for a program's own instructions. */
const rescuedWindow = 80_000;
const rows: string[][] = [];
let failed = false;
const busy = startBusy(Number(values.busy));
try {
	for (const program of chosen) {
		for (const row of await compare(program)) {
			process.stderr.write(`${row.join(" | ")}\n`);
			rows.push(row);
		}
	}
} finally {
	busy.end();
}
const reads = values.strict ? claudePrices(model).cacheRead : usualPrices.cacheRead;
process.stdout.write(
	`\n${script.toolTurns} tool turns of ${script.fileChars} characters; a token is four bytes; a cached token costs ${reads}, a token written to the cache 1.25 (2 for an hour).\n${values.agents ? `${agentsNote}\n` : values.strict ? strictNote : ""}\n`,
);
process.stdout.write(table([columns, ...rows]));
process.exitCode = failed ? 1 : 0;

/** A row for each way in which a program is run. */
async function compare(program: AgentProgram): Promise<string[][]> {
	const ways = waysOf(program);
	if (ways.length === 0 || (values.agents && !hasAgent(program))) return [];
	const installed = installProgram(program);
	const name = `${program.title} ${installed.version}`;
	if (installed.kind === "absent") {
		failed = true;
		return [[name, `not installed: ${installed.reason}`]];
	}
	if (values.agents) {
		const { bodies, set: settings } = values;
		const { binFolder } = installed;
		const played = await agentRows({ program, binFolder, model, bodies, settings, limitSeconds });
		failed ||= played.some(({ isRight }) => !isRight);
		return played.map(({ way, row }) => [name, way, ...row]);
	}
	if (values.rescue) {
		const { binFolder } = installed;
		const rescue = { program, binFolder, script, contextWindow: rescuedWindow, limitSeconds };
		const rescued = await rescueSession(rescue).catch((error: unknown) => ({ row: [String(error)], isRight: false }));
		failed ||= rescued?.isRight === false;
		return rescued ? [[name, "rescue", ...rescued.row]] : [];
	}
	if (values["corporate-proxy"]) {
		const played: string[][] = [];
		const ways = program.name === "claude" ? [false, true] : [false];
		const runs = ways.flatMap((isBySettings) => (["alone", "proxy"] as const).map((way) => ({ way, isBySettings })));
		for (const { way, isBySettings } of runs) {
			const { binFolder } = installed;
			const network = { program, binFolder, script, way, isBySettings, limitSeconds };
			const one = await runInNetwork(network).catch((error: unknown) => {
				return { row: [String(error)], isRight: false, output: "" };
			});
			// What a program does alone is its own affair.
			failed ||= way === "proxy" && !one.isRight;
			if (!one.isRight || values.verbose) process.stderr.write(`${one.output.slice(-4000)}\n`);
			played.push([name, isBySettings ? `${way}, variables in its settings` : way, ...one.row]);
		}
		return played;
	}
	if (values.compaction) {
		const compacted: string[][] = [];
		for (const hasHook of [false, true]) {
			const bodies = values.bodies && join(values.bodies, `${program.name}-${hasHook ? "hook" : "alone"}`);
			const { binFolder } = installed;
			const session = { program, binFolder, script, hasHook, bodies, limitSeconds };
			const one = await compactSession(session).catch((error: unknown) => ({ row: [String(error)], isRight: false }));
			failed ||= one?.isRight === false;
			if (one) compacted.push([name, hasHook ? "hook" : "alone", ...one.row]);
		}
		return compacted;
	}
	const strict = values.strict ? { model, thinking: strictThinking } : undefined;
	const run = (way: Way, played: SessionScript) => {
		const bodies = values.bodies && join(values.bodies, `${program.name}-${way}`);
		const { binFolder } = installed;
		const settings = values.set;
		return runProgram({ program, binFolder, script: played, way, bodies, limitSeconds, cloud, strict, settings });
	};
	if (strict) {
		const alone = await run("alone", script);
		const played: string[][] = [];
		for (const way of ["alone", ...(values.without ? [] : ways)] as const) {
			const one = way === "alone" ? alone : await run(way, script);
			say(program, way, one);
			// A proxy that no longer edits keeps all thinking, and saves nothing.
			failed ||= !keepsThinking(one) || (way === "proxy" && one.totals.billed >= alone.totals.billed);
			played.push([name, way, ...strictRow(one, alone)]);
		}
		return played;
	}
	const without = await run("alone", script);
	say(program, "alone", without);
	if (!without.isRight) {
		failed = true;
		return [[name, `does not run here: ${lastLine(without)}`]];
	}
	const a = without.totals;
	if (values.without) return [[name, "", grouped(a.sent), grouped(a.billed)]];
	const largeWithout = await run("alone", large);
	const compared: string[][] = [];
	for (const way of ways) {
		const edited = await run(way, script);
		say(program, way, edited);
		const shown = await run(way, large);
		say(program, `${way}, large`, shown);
		const isEditedRight = edited.isRight && (edited.hasRecalled || !script.recalls);
		const isCut = shown.firstShown < 0.9 * largeWithout.firstShown;
		const b = edited.totals;
		const problems = [
			isEditedRight && shown.isRight ? [] : ["wrong last answer"],
			isCut && !shown.hasRecalled ? ["no recall"] : [],
			// A program's own hook cuts what it knows, and a session of few turns has nothing to mask.
			!cutsOnly.has(way) && script.toolTurns > oldTurns && b.sent > mostSent * a.sent ? ["nothing masked"] : [],
			way !== "hook" && shown.firstShown > mostShown ? ["a large output was not cut"] : [],
			edited.refusals.length + shown.refusals.length > without.refusals.length ? ["requests refused"] : [],
		].flat();
		for (const problem of problems) process.stderr.write(`FAILED: ${program.title}, ${way}: ${problem}\n`);
		failed ||= problems.length > 0;
		compared.push([
			name,
			way,
			`${grouped(a.sent)} → ${grouped(b.sent)} (× ${(b.sent / a.sent).toFixed(2)})`,
			`${grouped(a.billed)} → ${grouped(b.billed)} (× ${(b.billed / a.billed).toFixed(2)})`,
			`${a.cacheBreaks} → ${b.cacheBreaks}`,
			isEditedRight ? "yes" : "no",
			`${without.refusals.length} → ${edited.refusals.length}`,
			edited.old.replace("_", " "),
			`${grouped(largeWithout.firstShown)} → ${grouped(shown.firstShown)}`,
			shown.hasRecalled ? "works" : isCut ? "fails" : "nothing to recall",
			String(edited.placeholdersStored),
		]);
	}
	return compared;
}

function waysOf({ inside, hasMod }: AgentProgram): readonly Way[] {
	const possible: readonly Way[] = ["proxy", ...(inside ? [inside.kind] : []), ...(hasMod ? (["mod"] as const) : [])];
	return possible.filter((way) => values.ways.split(",").includes(way));
}

function say(
	program: AgentProgram,
	how: string,
	{ code, seconds, output, isRight, paths, refusals, totals }: ProgramRun,
): void {
	process.stderr.write(
		`${program.title} ${how}: exit code ${code}, ${seconds.toFixed(0)} s, ${totals.requests} requests, ${isRight ? "right" : "wrong"}\n`,
	);
	for (const refusal of refusals) process.stderr.write(`  400 ${refusal}\n`);
	if (!isRight || values.verbose) process.stderr.write(`${output.slice(-4000)}\n${[...new Set(paths)].join("\n")}\n`);
}

function lastLine({ output, code }: ProgramRun): string {
	const lines = output.split("\n").filter((line) => line.trim() !== "");
	return `exit code ${code}, ${lines.at(-1)?.slice(0, 100) ?? "no output"}`;
}

function table(lines: readonly (readonly string[])[]): string {
	const filled = lines.map((cells) => [...cells, ...columns.slice(cells.length).map(() => "")]);
	const [head = "", ...body] = filled.map((cells) => `| ${cells.join(" | ")} |`);
	const rule = `|${columns.map(() => "---").join("|")}|`;
	return `${[head, rule, ...body].join("\n")}\n`;
}
