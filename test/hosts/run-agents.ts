import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { foundText, nextAskingAnswer, pauseText, resumePrompt } from "../support/asking-script.ts";
import { claudePrices } from "../support/claude-models.ts";
import type { SessionScript } from "../support/scripted-session.ts";
import { type LoggedRequest, startStandInProvider } from "../support/stand-in-provider.ts";
import { grouped } from "./grouped.ts";
import type { AgentProgram } from "./programs.ts";
import { builtCli, prepareHome, runToEnd, sessionPrompt } from "./run-program.ts";
import { hasPairs, tokensOf } from "./run-rescue.ts";
import { strictThinking } from "./strict-row.ts";

export const agentColumns = [
	"program",
	"with",
	"asked for the state",
	"results masked",
	"tokens freed",
	"recalled by search",
	"refused (400)",
	"resumed with the same bytes",
];

export const agentsNote =
	"After 12 files the agent calls guard_context and mask_conversation without messages. After 16 it ends, and a new process goes on; at the end it searches the originals for a name that it no longer sees, and reads the line by its reference. Freed: by our answer, and by the size of the next request without what is new in it.";

export const agentsScript: SessionScript = { toolTurns: 20, fileChars: 6_000 };

/** How the server is entered, and how the last session goes on. */
interface Asking {
	readonly ways: readonly ("proxy" | "plugin")[];
	readonly entered: (how: {
		readonly way: "proxy" | "plugin";
		readonly home: string;
		readonly palimpsest: (...parameters: string[]) => Promise<unknown>;
	}) => Promise<void>;
	readonly resumed: (parameters: readonly string[]) => readonly string[];
}

const asking: Readonly<Record<string, Asking>> = {
	claude: {
		ways: ["proxy"],
		entered: async ({ palimpsest }) => void (await palimpsest("install", "claude-code", "--locale", "en")),
		resumed: (parameters) => ["--continue", ...parameters],
	},
	codex: {
		ways: ["proxy"],
		entered: async ({ palimpsest }) => void (await palimpsest("install", "codex", "--locale", "en")),
		resumed: ([command = "", ...parameters]) => [command, "resume", "--last", ...parameters],
	},
	opencode: {
		ways: ["proxy", "plugin"],
		entered: async ({ way, palimpsest }) => {
			await palimpsest("install", "opencode", "--locale", "en");
			if (way === "proxy") await palimpsest("hook", "uninstall", "opencode");
		},
		resumed: ([command = "", ...parameters]) => [command, "--continue", ...parameters],
	},
	pi: {
		ways: ["proxy", "plugin"],
		entered: async ({ way, home, palimpsest }) => {
			if (way === "plugin") return void (await palimpsest("install", "pi", "--locale", "en"));
			const palimpsestServer = { command: process.execPath, args: [builtCli, "serve"], exposure: "direct" };
			const file = join(home, ".pi/agent/mcp.json");
			await mkdir(dirname(file), { recursive: true });
			await writeFile(file, JSON.stringify({ mcpServers: { palimpsest: palimpsestServer } }));
		},
		resumed: (parameters) => ["--continue", ...parameters],
	},
};

/** Whether an agent in this program is played. */
export function hasAgent({ name }: AgentProgram): boolean {
	return name in asking;
}

/** The rows of a program whose agent asks for masking in its own conversation. */
export async function agentRows(given: {
	readonly program: AgentProgram;
	readonly binFolder: string;
	readonly model: string;
	/** A folder that keeps the bodies of the requests. */
	readonly bodies?: string | undefined;
	readonly settings: readonly string[];
	readonly limitSeconds: number;
}): Promise<readonly { readonly way: string; readonly row: readonly string[]; readonly isRight: boolean }[]> {
	const rows = [];
	for (const way of asking[given.program.name]?.ways ?? []) {
		const one = await playAgent({ ...given, way }).catch((error: unknown) => ({
			row: [String(error).replaceAll(/[\n|]/g, " ")],
			isRight: false,
		}));
		rows.push({ way, ...one });
	}
	return rows;
}

async function playAgent(
	given: Parameters<typeof agentRows>[0] & { readonly way: "proxy" | "plugin" },
): Promise<{ readonly row: readonly string[]; readonly isRight: boolean }> {
	const { program, way, model, bodies, settings, limitSeconds } = given;
	const { entered, resumed } = asking[program.name] as Asking;
	const script = agentsScript;
	const provider = await startStandInProvider({
		script,
		next: nextAskingAnswer,
		thinking: strictThinking,
		prices: claudePrices,
		...(bodies === undefined ? {} : { folder: join(bodies, `${program.name}-${way}`) }),
	});
	const { home, project, environment } = await prepareHome({ ...given, script, origin: provider.origin });
	const start = (command: readonly string[]) => runToEnd(command, { cwd: project, environment, limitSeconds });
	const palimpsest = (...parameters: string[]) => start([process.execPath, builtCli, ...parameters]);
	const policy = settings.flatMap((one) => ["--set", one]);
	const play = (parameters: readonly string[]) =>
		way === "proxy"
			? palimpsest("launch", ...policy, program.command, ...parameters)
			: start([program.command, ...parameters]);
	try {
		await entered({ way, home, palimpsest });
		const first = await play(program.parameters(sessionPrompt, model));
		if (!first.output.includes(pauseText)) throw new Error(`did not get to its pause: ${first.output.slice(-1_500)}`);
		const before = provider.requests.length;
		const second = await play(resumed(program.parameters(resumePrompt, model)));
		const seen = readAgent(provider.requests, before);
		const isFound = second.output.includes(foundText(script));
		const refused = provider.refusals.length + provider.requests.filter(({ body }) => !hasPairs(body, "none")).length;
		for (const { message } of provider.refusals) process.stderr.write(`  400 ${message}\n`);
		if (!isFound) process.stderr.write(`${second.output.slice(-1_500)}\n`);
		const yes = (one: boolean) => (one ? "yes" : "no");
		const row = [
			yes(seen.isAsked),
			String(seen.masked),
			`${grouped(seen.told)}; ${grouped(seen.freed)}`,
			yes(isFound),
			String(refused),
			yes(seen.isSame),
		];
		const isFreed = seen.masked > 0 && Math.abs(seen.freed - seen.told) < mostApart * seen.told;
		return { row, isRight: seen.isAsked && isFreed && isFound && refused === 0 && seen.isSame };
	} finally {
		await provider.close();
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** A plugin is not told how many tokens the provider counts; for the stand-in each is four bytes. */
const mostApart = 0.4;

/** What the requests of both processes show. The first of the second process is at `resumed` or behind it. */
function readAgent(requests: readonly LoggedRequest[], resumed: number) {
	const all = requests.map(({ body, usage }) => ({ results: resultsIn(body), tokens: tokensOf(usage) }));
	const textsOf = ({ results }: (typeof all)[number]) => [...results.values()].join("\n");
	const answered = all.findIndex((one) => maskAnswer.test(textsOf(one)));
	const { masked = "", tokens = "" } =
		maskAnswer.exec(textsOf(all[answered] ?? { results: new Map(), tokens: 0 }))?.groups ?? {};
	// The policy may mask as well, with the request that has the answer.
	const [at, next] = [all[answered - 1], all[answered + 1]];
	const fresh = next && at ? [...next.results].filter(([id]) => !at.results.has(id)) : [];
	const isNew = fresh.reduce((sum, [, text]) => sum + Math.ceil(text.length / 4), 0);
	const last = all.slice(0, resumed).findLast(({ results }) => results.size > 0);
	const first = all.slice(resumed).find(({ results }) => results.size > 0);
	return {
		isAsked: all.some((one) => /This conversation has [\d\s]+ tokens/.test(textsOf(one))),
		masked: Number(masked),
		told: numberOf(tokens),
		freed: at && next ? at.tokens + isNew - next.tokens : 0,
		isSame: last !== undefined && [...last.results].every(([id, text]) => first?.results.get(id) === text),
	};
}

const maskAnswer =
	/(?<masked>\d+) results? (?:masked|cleared by the provider, oldest first,) from the next request on, (?<tokens>[\d\s]+) tokens/;

const numberOf = (text: string) => Number(text.replace(/\s/g, ""));

/** The results of a request by the ids of their calls, as JSON. */
function resultsIn(body: string): Map<string, string> {
	const results = new Map<string, string>();
	JSON.parse(body, (_, value: unknown) => {
		const { type, call_id, tool_use_id, content, output } = (value ?? {}) as Record<string, unknown>;
		if (type === "tool_result") results.set(String(tool_use_id), JSON.stringify(content));
		if (type === "function_call_output") results.set(String(call_id), JSON.stringify(output));
		return value;
	});
	return results;
}
