import { rm } from "node:fs/promises";
import { claudePrices } from "../support/claude-models.ts";
import { callsIn, type SessionScript, shellTool } from "../support/scripted-session.ts";
import { type StandInProvider, startStandInProvider } from "../support/stand-in-provider.ts";
import { installProgram } from "./install-programs.ts";
import { modParameters } from "./mod-plugin.ts";
import { programs, serversTools } from "./programs.ts";
import { prepareHome, runToEnd } from "./run-program.ts";
import { strictThinking } from "./strict-row.ts";

type Json = Readonly<Record<string, unknown>>;

/** What the model calls, one answer after the other; several inputs are calls of one answer. */
export interface PlannedCall {
	readonly tool: string;
	readonly inputs: readonly Json[];
}

export interface ClaudeSession {
	readonly provider: StandInProvider;
	readonly home: string;
	readonly project: string;
	/** Plays a prompt; with `resumes` in the last session. */
	readonly play: (how?: {
		readonly hasMod?: boolean;
		readonly resumes?: boolean;
		readonly prompt?: string;
		readonly parameters?: readonly string[];
		readonly environment?: Readonly<Record<string, string>>;
		/** Another folder of a plugin. */
		readonly plugin?: string;
	}) => Promise<{ readonly code: number | null; readonly output: string; readonly seconds: number }>;
	/** Messages of the last request, as JSON. */
	readonly messages: () => readonly string[];
	readonly close: () => Promise<void>;
}

export const doneText = "The plan is done.";

const script: SessionScript = { toolTurns: 0, fileChars: 1 };

/** The text by which a subagent of a plan is known; its one call is of the shell. */
export const subagentPrompt = "Look at the big file and say what it is.";

/** Claude Code in a home of its own, against a stand-in that is as strict as Anthropic's API; `undefined` if npm does not install it. */
export async function startClaude(given: {
	readonly plan: readonly PlannedCall[];
	/** The one call of a subagent. */
	readonly subagent?: string;
	readonly model?: string;
}): Promise<ClaudeSession | undefined> {
	const { plan, subagent = "true", model = "claude-opus-5-5" } = given;
	const program = programs.find(({ name }) => name === "claude");
	if (!program) return undefined;
	const installed = installProgram(program);
	if (installed.kind !== "installed") return undefined;
	const { binFolder } = installed;
	const provider = await startStandInProvider({
		script,
		next(_, api, body) {
			const messages = JSON.stringify(body.messages);
			const calls = callsIn(api, body);
			if (shellTool(api, body) === undefined) return { kind: "text", text: "A short title" };
			if (messages.includes(subagentPrompt) && !messages.includes(`"prompt":"${subagentPrompt}"`)) {
				if (calls.length > 0) return { kind: "text", text: "It is big." };
				return { kind: "call", turn: 1, tool: "Bash", input: { command: subagent } };
			}
			const inputs = plan.map((one) => one.inputs.length);
			const ends = inputs.map((_one, at) => inputs.slice(0, at + 1).reduce((sum, count) => sum + count, 0));
			const done = ends.filter((end) => end <= calls.length).length;
			const call = plan[done];
			if (!call) return { kind: "text", text: doneText };
			const [input = {}, ...parallel] = call.inputs;
			return { kind: "call", turn: done + 1, tool: call.tool, input, ...(parallel.length > 0 ? { parallel } : {}) };
		},
		checksPairing: true,
		thinking: strictThinking,
		prices: claudePrices,
	});
	const { home, project, environment } = await prepareHome({ program, binFolder, script, origin: provider.origin });
	const prompt = "Follow the plan.";
	return {
		provider,
		home,
		project,
		async play(how = {}) {
			const { hasMod = true, resumes = false, parameters = [], plugin } = how;
			const started = performance.now();
			const own = program.parameters(how.prompt ?? prompt, model).filter((one) => one !== serversTools);
			const ofPlugin = plugin === undefined ? (hasMod ? modParameters(home) : []) : ["--plugin-dir", plugin];
			const line = [program.command, ...(resumes ? ["--continue"] : []), ...own, ...ofPlugin, ...parameters];
			const ended = await runToEnd(line, {
				cwd: project,
				environment: { ...environment, ...how.environment },
				limitSeconds: 120,
			});
			return { ...ended, seconds: (performance.now() - started) / 1000 };
		},
		messages() {
			const main = provider.requests.filter(({ body }) => body.includes(prompt));
			const { messages } = JSON.parse(main.at(-1)?.body ?? '{"messages":[]}') as { messages: readonly Json[] };
			return messages.map((message) => JSON.stringify(plainly(message)));
		},
		async close() {
			await provider.close();
			await rm(home, { recursive: true, force: true, maxRetries: 5 });
		},
	};
}

/** Claude Code moves its `cache_control` from message to message, and gives some texts as a list of one after a resume. */
function plainly(message: Json): Json {
	const { content } = message;
	const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
	const kept = JSON.stringify(blocks, (key, one: unknown) => (key === "cache_control" ? undefined : one));
	return { ...message, content: JSON.parse(kept) };
}
