import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import type { Readable, Writable } from "node:stream";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { listOf, objectOf } from "../formats/json-text/value.ts";
import type { ServerStart } from "../hosts/host.ts";
import { version } from "../version.ts";

/** The ways in which a host starts us: a server, a hook's command line in a shell, or a module that a plugin file imports. */
export type EnteredStart =
	| ({ readonly kind: "server" } & OwnStart)
	| { readonly kind: "hook"; readonly line: string }
	| { readonly kind: "module"; readonly file: string };

/** `cwd`: absent for the folder of the host's choice. */
interface OwnStart extends ServerStart {
	readonly cwd?: string;
}

/** Reads the entry of any host; `undefined` for an address, and where the host fills in variables (`${…}`). */
export function entryStart(entry: unknown): EnteredStart | undefined {
	if (!isJsonObject(entry) || JSON.stringify(entry).includes("${")) return undefined;
	const [command, ...args] = [entry.command ?? [], entry.args ?? []].flat();
	if (typeof command !== "string") return undefined;
	const variables = entry.env ?? entry.environment;
	const env = Object.entries(isJsonObject(variables) ? variables : {}).map(([name, value]) => [name, String(value)]);
	const { cwd } = entry;
	const start = { command, args: args.map(String), env: Object.fromEntries(env) };
	return { kind: "server", ...start, ...(typeof cwd === "string" && cwd !== "" && { cwd }) };
}

/** Why it does not start, in a few words; `undefined` if it does. Starts it once, as the host does, and ends it. */
export async function startProblem(start: EnteredStart): Promise<string | undefined> {
	if (start.kind === "module") return existsSync(start.file) ? undefined : `there is no ${start.file}`;
	try {
		if (start.kind === "server") {
			return await problemOf(spawnServer(start), { input: line(initialize), isDone: isInitialized, start });
		}
		// An event of no tool, to which every hook of ours answers nothing.
		const child = spawn(start.line, { cwd: homedir(), stdio: ["pipe", "pipe", "ignore"], shell: true });
		return await problemOf(child, { input: "{}" });
	} catch {
		// An empty name, or a character that no command has.
		return "it cannot be run";
	}
}

/** The tools of a server, which is started once; or why it does not start, in a few words. */
export async function toolsOffered(
	start: OwnStart,
): Promise<{ readonly tools: number } | { readonly problem: string }> {
	let tools = 0;
	const isDone = (output: string): boolean => {
		const answers = output.split("\n").slice(0, -1).map(messageIn);
		// Behind the gateway, an error also says that the server has ended.
		const answer = answers.find(({ id, error }) => id === 2 && (error === undefined || hasNoTools(error)));
		tools = listOf(objectOf(answer?.result).tools).length;
		return answer !== undefined;
	};
	const input = [initialize, { jsonrpc: "2.0", method: "notifications/initialized" }, listTools].map(line).join("");
	try {
		const problem = await problemOf(spawnServer(start), { input, isDone, start });
		return problem === undefined ? { tools } : { problem };
	} catch {
		return { problem: "it cannot be run" };
	}
}

function spawnServer({ command, args, env, cwd = homedir() }: OwnStart) {
	return spawn(command, args, { cwd, stdio: ["pipe", "pipe", "ignore"], env: { ...process.env, ...env } });
}

const hasNoTools = (error: unknown) => objectOf(error).code === -32_601;

/** A server may write other lines. */
function messageIn(line: string): JsonObject {
	try {
		return /"id"\s*:\s*2\b/.test(line) ? objectOf(JSON.parse(line)) : {};
	} catch {
		return {};
	}
}

const line = (message: object) => `${JSON.stringify(message)}\n`;

const listTools = { jsonrpc: "2.0", id: 2, method: "tools/list" };

const initialize = {
	jsonrpc: "2.0",
	id: 1,
	method: "initialize",
	params: {
		protocolVersion: "2025-06-18",
		capabilities: {},
		clientInfo: { name: "palimpsest-doctor", version },
	},
};

function isInitialized(output: string): boolean {
	return output.split("\n").some((line) => line.includes('"serverInfo"') && line.endsWith("}"));
}

/** How long a start may take: a program such as npx fetches the package first, also behind the gateway. */
function patience(start: OwnStart | undefined): { readonly longestMs: number; readonly advice: string } {
	const fetching = [start?.command ?? "", ...(start?.args ?? [])]
		.map((word) => /(?:^|[\\/])(npx|bunx|uvx|pipx)(?:\.cmd|\.exe)?$/.exec(word)?.[1])
		.find((word) => word !== undefined);
	if (fetching === undefined) return { longestMs: 30_000, advice: "" };
	return { longestMs: 120_000, advice: `; ${fetching} may still be fetching the package: start it once in a terminal` };
}

const mostOutputChars = 1_000_000;

/** Waits until the output of a child is done or, without `isDone`, until it ends with exit code 0. */
function problemOf(
	child: ChildProcessByStdio<Writable, Readable, null>,
	{
		input,
		isDone,
		start,
	}: { readonly input: string; readonly isDone?: (output: string) => boolean; readonly start?: OwnStart },
): Promise<string | undefined> {
	const { longestMs, advice } = patience(start);
	return new Promise((resolve) => {
		const end = (problem: string | undefined) => {
			clearTimeout(late);
			resolve(problem);
			child.stdin.destroy();
			child.stdout.destroy();
			child.kill();
			child.unref();
		};
		const late = setTimeout(() => end(`no answer in ${longestMs / 1_000} s${advice}`), longestMs);
		let output = "";
		child.stdout.setEncoding("utf8").on("data", (piece: string) => {
			output = (output + piece).slice(-mostOutputChars);
			if (isDone?.(output)) end(undefined);
		});
		child.stdin.on("error", () => {});
		child.on("error", ({ code }: NodeJS.ErrnoException) =>
			end(code === "ENOENT" ? "there is no such command" : `it cannot be run, ${code}`),
		);
		child.on("close", (code, signal) =>
			end(code === 0 && isDone === undefined ? undefined : `it ended with ${signal ?? `exit code ${code}`}`),
		);
		if (isDone === undefined) child.stdin.end(input);
		else child.stdin.write(input);
	});
}
