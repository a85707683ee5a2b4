import { installProgram } from "../hosts/install-programs.ts";
import { programs } from "../hosts/programs.ts";
import { type ProgramRun, runProgram } from "../hosts/run-program.ts";
import { strictColumns, strictRow, strictThinking } from "../hosts/strict-row.ts";
import { claudePrices } from "../support/claude-models.ts";
import type { SessionScript } from "../support/scripted-session.ts";
import { type PlayedSession, playSession } from "../support/session-player.ts";
import {
	type ProviderPrices,
	type ProviderTotals,
	type StandInProvider,
	startStandInProvider,
	usualPrices,
} from "../support/stand-in-provider.ts";
import { withProxy } from "./proxy-process.ts";
import { atMost, progress, short, type Table, type Target } from "./section.ts";

const model = "claude-opus-5-5";
const scripts = [
	{ toolTurns: 40, fileChars: 20_000, aim: 0.6 },
	{ toolTurns: 40, fileChars: 9_000, aim: undefined },
];
const mostBilled = 0.7;

export const strictNote = `Reasoning: the stand-in in \`test/support/stand-in-provider.ts\` checks thinking as Anthropic's API does for an account made since 2026-08-31, and plays a session of ${model}. A token is four bytes. Billed is the input with the proxy by that without it: at reads of ${usualPrices.cacheRead} of an input token, and at those of the model, ${claudePrices(model).cacheRead}; writes cost 1.25. “Lost” counts valid blocks of thinking that are not in a request.`;

/** Sessions against a stand-in that checks thinking, with an agent of our own. */
export async function measureStrict(): Promise<{ readonly tables: readonly Table[]; readonly targets: Target[] }> {
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const { aim, ...script } of scripts) {
		const name = `${script.toolTurns} turns of ${short(script.fileChars)} characters`;
		progress(`proxy: strict, ${name}`);
		const raw = await sessionOf(script, false);
		const own = await sessionOf(script, true);
		const { totals, played } = own;
		const errors = played.errors.length;
		const billed = billOf(own.provider, usualPrices) / billOf(raw.provider, usualPrices);
		const billedNow = billOf(own.provider, claudePrices(model)) / billOf(raw.provider, claudePrices(model));
		rows.push([
			name,
			played.isRight ? "yes" : "no",
			String(errors),
			String(totals.refused),
			String(totals.blocksLost),
			`${(totals.sent / raw.totals.sent).toFixed(3)} ×`,
			`${billed.toFixed(3)} ×`,
			`${billedNow.toFixed(3)} ×`,
		]);
		const what = `proxy, strict, ${name}`;
		targets.push(atMost(`${what}: wrong ends and errors`, 0, errors + Number(!played.isRight), ""));
		targets.push(atMost(`${what}: refused requests`, 1, totals.refused, ""));
		targets.push(atMost(`${what}: valid blocks of thinking not sent`, 0, totals.blocksLost, ""));
		targets.push(atMost(`${what}: billed`, mostBilled, billed));
		if (aim !== undefined) targets.push(atMost(`${what}: billed (aim)`, aim, billed));
	}
	const reads = [usualPrices, claudePrices(model)].map(({ cacheRead }) => `billed, reads at ${cacheRead}`);
	const columns = ["session", "right end", "errors", "refused", "lost", "tokens sent", ...reads];
	return { tables: [{ caption: "A stand-in that checks thinking", columns, rows }], targets };
}

interface StrictSession {
	readonly played: PlayedSession;
	readonly provider: StandInProvider;
	readonly totals: ProviderTotals;
}

async function sessionOf(script: SessionScript, isProxied: boolean): Promise<StrictSession> {
	const provider = await startStandInProvider({ script, thinking: strictThinking });
	try {
		const played = isProxied
			? await withProxy(provider.origin, ({ address, idle }) =>
					playSession({ baseUrl: address, script, model, beforeRequest: idle }),
				)
			: await playSession({ baseUrl: provider.origin, script, model });
		return { played, provider, totals: provider.totals() };
	} finally {
		await provider.close();
	}
}

/** The input of all requests. */
function billOf({ requests }: StandInProvider, prices: ProviderPrices): number {
	const { cacheRead, cacheWrite, cacheWriteForAnHour } = prices;
	return requests.reduce((sum, { usage }) => {
		const { uncached, written, writtenForAnHour } = usage;
		const writing = written * cacheWrite + writtenForAnHour * cacheWriteForAnHour;
		return sum + uncached + usage.cacheRead * cacheRead + writing;
	}, 0);
}

const claudeScript = { toolTurns: 34, fileChars: 12_000, recalls: false };

export const claudeNote =
	"Claude Code: its newest native package in the same check ([table](proxy.md#what-it-saves)), as in `npm run hosts -- claude --strict --ways proxy`, which explains the columns.";

/** Claude Code against the same stand-in. */
export async function measureClaudeCode(): Promise<{ readonly tables: readonly Table[]; readonly targets: Target[] }> {
	const caption = "Claude Code, 35 requests";
	const program = programs.find(({ name }) => name === "claude");
	if (!program) throw new Error("Expected Claude Code among the programs of test/hosts.");
	const installed = installProgram(program);
	const name = `${program.title} ${installed.version}`;
	if (installed.kind === "absent") {
		return { tables: [{ caption, columns: ["program", "with"], rows: [[name, "not installed"]] }], targets: [] };
	}
	const strict = { model, thinking: strictThinking };
	const run = (way: "alone" | "proxy"): Promise<ProgramRun> => {
		progress(`proxy: ${name}, ${way}`);
		const { binFolder } = installed;
		return runProgram({ program, binFolder, script: claudeScript, way, limitSeconds: 600, strict });
	};
	const alone = await run("alone");
	const proxied = await run("proxy");
	const rows = [
		[name, "alone", ...strictRow(alone, alone)],
		[name, "proxy", ...strictRow(proxied, alone)],
	];
	const { totals, errors, repairs, isRight } = proxied;
	const what = "proxy, strict, Claude Code";
	return {
		tables: [{ caption, columns: strictColumns, rows }],
		targets: [
			atMost(`${what}: wrong ends, errors and repairs`, 0, errors + repairs + Number(!isRight), ""),
			atMost(`${what}: refused requests`, 1, totals.refused, ""),
			atMost(`${what}: valid blocks of thinking not sent`, 0, totals.blocksLost, ""),
		],
	};
}
