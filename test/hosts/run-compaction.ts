import { rm } from "node:fs/promises";
import { marker, type SessionScript } from "../support/scripted-session.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";
import type { AgentProgram } from "./programs.ts";
import { builtCli, prepareHome, runToEnd, sessionPrompt } from "./run-program.ts";
import { tokensOf } from "./run-rescue.ts";

export const compactionColumns = [
	"program",
	"with",
	"tokens of the last request",
	"of the next one, after the compaction",
	"rules in it word for word, and after a second compaction",
	"originals that it names",
	"one of them is recalled",
];

/** What a person says in the session, a turn each. The third is in the middle of a text that no hook has room for. */
const rules = [
	"Never touch the migrations in db/legacy, not even to format them.",
	"Réponds toujours en français, et n'ajoute jamais de dépendance sans demander.",
	"Only the owners of a module may rename what it exports.",
	"从现在起只能使用 pnpm，不要运行 npm install。",
];
const pasted = "the report of the nightly build lists one more warning about an unused import\n".repeat(150);

/**
 * Plays a session with rules in a program, lets the program compact by itself with a model whose summary forgets all of
 * them, goes on, and looks at the next request. Returns a row, or nothing for a program without such a hook.
 */
export async function compactSession(given: {
	readonly program: AgentProgram;
	readonly binFolder: string;
	readonly script: SessionScript;
	readonly hasHook: boolean;
	/** A folder that keeps the bodies of the requests. */
	readonly bodies?: string | undefined;
	readonly limitSeconds: number;
}): Promise<{ readonly row: readonly string[]; readonly isRight: boolean } | undefined> {
	const { program, script, hasHook, bodies, limitSeconds } = given;
	if (program.name !== "claude" || program.inside === undefined) return undefined;
	const provider = await startStandInProvider({ script, ...(bodies === undefined ? {} : { folder: bodies }) });
	const { home, project, environment } = await prepareHome({ ...given, origin: provider.origin });
	const start = (command: readonly string[]) => runToEnd(command, { cwd: project, environment, limitSeconds });
	const palimpsest = (...parameters: string[]) => start([process.execPath, builtCli, ...parameters]);
	const say = async (prompt: string, ...flags: string[]) => {
		const { code, output } = await start([program.command, ...flags, ...program.parameters(prompt)]);
		if (code !== 0) throw new Error(`does not run here: ${output.slice(-300)}`);
	};
	const compactAndGoOn = async () => {
		const played = provider.requests.length;
		await say("/compact", "--continue");
		const compacted = provider.requests.length;
		await say("Go on.", "--continue");
		const request = provider.requests[compacted];
		if (request === undefined || compacted === played) throw new Error("the program did not compact");
		const text = textsIn(request.body);
		return { text, tokens: tokensOf(request.usage), kept: rules.filter((rule) => text.includes(rule)).length };
	};
	try {
		if (hasHook) await palimpsest("hook", "install", program.inside.host, "--locale", "en");
		const [first = "", second = "", third = "", fourth = ""] = rules;
		await say(`${sessionPrompt} ${first}`);
		for (const turn of [second, `${pasted}${third}\n${pasted}`, fourth]) await say(turn, "--continue");
		const tokens = tokensOf(provider.requests.at(-1)?.usage);
		const [once, twice] = [await compactAndGoOn(), await compactAndGoOn()];
		const refs = Array.from(once.text.matchAll(/ characters\): .* recall (\w+)/g), ([, ref = ""]) => ref);
		const recalled = refs[0] === undefined ? "" : (await palimpsest("recall", refs[0], "--all")).output;
		const isRecalled = recalled.includes(marker(1));
		const kept = `${once.kept} of ${rules.length}, ${twice.kept} of ${rules.length}`;
		const row = [tokens, once.tokens, kept, refs.length, isRecalled ? "yes" : "no"].map(String);
		const isKept = once.kept === rules.length && twice.kept === rules.length && isRecalled;
		return { row, isRight: !once.text.includes(marker(1)) && (!hasHook || isKept) };
	} finally {
		await provider.close();
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** All texts of a request, as they read. */
function textsIn(body: string): string {
	const texts: string[] = [];
	JSON.parse(body, (_, value: unknown) => {
		if (typeof value === "string") texts.push(value);
		return value;
	});
	return texts.join("\n");
}
