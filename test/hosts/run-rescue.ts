import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { finalText, marker, type SessionScript } from "../support/scripted-session.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";
import type { AgentProgram } from "./programs.ts";
import { builtCli, prepareHome, runToEnd, sessionPrompt } from "./run-program.ts";

export const rescueColumns = [
	"program",
	"with",
	"tokens of the last request",
	"of the next one, after the rescue",
	"placeholders in it",
	"every call has its result",
	"the last file is in it",
	"so is the first request",
	"an original is recalled",
];

/** Where each program keeps its sessions, from the home folder. opencode keeps them in a database, and exports one. */
const sessions: Readonly<Record<string, RegExp | "export">> = {
	claude: /\.claude\/projects\/.*\.jsonl$/,
	codex: /\.codex\/sessions\/.*\.jsonl$/,
	pi: /\.pi\/agent\/sessions\/.*\.jsonl$/,
	gemini: /\.gemini\/tmp\/.*\/chats\/session-.*\.jsonl?$/,
	opencode: "export",
};

/**
 * Plays a session, rescues it as if its model had a smaller window, and resumes it by the printed command with the flags
 * that run the program without a terminal. Returns a row, or nothing if the program's sessions cannot be rescued.
 */
export async function rescueSession(given: {
	readonly program: AgentProgram;
	readonly binFolder: string;
	readonly script: SessionScript;
	/** In tokens. */
	readonly contextWindow: number;
	readonly limitSeconds: number;
}): Promise<{ readonly row: readonly string[]; readonly isRight: boolean } | undefined> {
	const { program, script, contextWindow, limitSeconds } = given;
	const kept = sessions[program.name];
	if (kept === undefined) return undefined;
	const provider = await startStandInProvider({ script });
	const { home, project, environment } = await prepareHome({ ...given, origin: provider.origin });
	const start = (command: readonly string[]) => runToEnd(command, { cwd: project, environment, limitSeconds });
	const palimpsest = (...parameters: string[]) => start([process.execPath, builtCli, ...parameters]);
	try {
		const played = await start([program.command, ...program.parameters(sessionPrompt)]);
		if (!played.output.includes(finalText(script))) throw new Error(`does not run here: ${played.output.slice(-300)}`);
		const requests = provider.requests.length;
		const before = tokensOf(provider.requests.at(-1)?.usage);
		const file = kept === "export" ? await exported(home, start) : await sessionIn(home, kept);
		const text = await readFile(file, "utf8");
		const window = ["--context-window", String(contextWindow), "--set", "log_level=error"];
		const rescued = await palimpsest("rescue", file, ...window);
		const line = rescued.output.split("\n").find((one) => /^(?:cd |\w+ )?.*(?:--resume|resume|--session) /.test(one));
		if (rescued.code !== 0 || line === undefined) throw new Error(rescued.output);
		const commands = line.split(" && ").filter((one) => !one.startsWith("cd "));
		for (const one of commands.slice(0, -1)) await start(["bash", "-c", one]);
		const [, ...words] = (commands.at(-1) ?? "").split(" ");
		const resumed = await start([program.command, ...withoutTerminal(program, words)]);
		const request = provider.requests[requests];
		if (request === undefined) throw new Error(`sent nothing: ${resumed.output.slice(-1_000)}`);
		const { body } = request;
		const masked = Array.from(body.matchAll(/\[masked [^\]]* #(\w+)\]/g), ([, ref = ""]) => ref);
		const recalled = masked[0] === undefined ? "" : (await palimpsest("recall", masked[0], "--all")).output;
		const checks = {
			fits: tokensOf(request.usage) < contextWindow * 0.6,
			calls: hasPairs(body),
			ends: body.includes(marker(script.toolTurns)),
			recalls: /seen-\d+-module-\d+/.test(recalled),
			untouched: (await readFile(file, "utf8")) === text,
		};
		const yes = (one: boolean) => (one ? "yes" : "no");
		const after = tokensOf(request.usage);
		// Gemini CLI leaves it out of any session that it has rewritten itself.
		const begins = yes(body.includes(sessionPrompt.slice(0, 40)));
		const row = [String(before), String(after), String(masked.length), yes(checks.calls), yes(checks.ends), begins];
		return { row: [...row, yes(checks.recalls)], isRight: Object.values(checks).every((one) => one) };
	} finally {
		await provider.close();
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** The words of the printed command among the flags of a run without a terminal. */
function withoutTerminal({ parameters }: AgentProgram, words: readonly string[]): readonly string[] {
	const flags = parameters("Go on.");
	return flags[0]?.startsWith("-") ? [...words, ...flags] : [...flags.slice(0, -1), ...words, "Go on."];
}

type Start = (command: readonly string[]) => Promise<{ readonly output: string }>;

async function exported(home: string, start: Start): Promise<string> {
	const id = /ses_\w+/.exec((await start(["opencode", "session", "list"])).output)?.[0] ?? "";
	const file = join(home, "session.json");
	await start(["bash", "-c", `opencode export ${id} > ${file}`]);
	return file;
}

async function sessionIn(home: string, kept: RegExp): Promise<string> {
	const files = (await readdir(home, { recursive: true })).map((file) => join(home, file));
	const file = files.find((one) => kept.test(one));
	if (file === undefined) throw new Error("kept no session");
	return file;
}

/** Of a request, with what the cache has. */
export function tokensOf(usage: Readonly<Record<string, number>> | object | undefined): number {
	return Object.values((usage ?? {}) as Readonly<Record<string, number>>).reduce((sum, one) => sum + one, 0);
}

/** Whether the ids of calls and of results are the same, and there are some. */
export function hasPairs(body: string, least: "none" | "some" = "some"): boolean {
	const calls = new Set<unknown>();
	const results = new Set<unknown>();
	JSON.parse(body, (_, value: unknown) => {
		const { type, id, call_id, tool_use_id, functionCall, functionResponse } = (value ?? {}) as Record<string, never>;
		if (type === "tool_use") calls.add(id);
		if (type === "tool_result") results.add(tool_use_id);
		if (type === "function_call") calls.add(call_id);
		if (type === "function_call_output") results.add(call_id);
		if (functionCall) calls.add((functionCall as { id?: unknown }).id);
		if (functionResponse) results.add((functionResponse as { id?: unknown }).id);
		return value;
	});
	return (
		(calls.size > 0 || least === "none") && calls.size === results.size && [...calls].every((id) => results.has(id))
	);
}
