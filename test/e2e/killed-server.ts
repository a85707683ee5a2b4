import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { builtCli } from "../support/built-cli.ts";
import { cleanEnvironment } from "../support/scratch-folder.ts";
import { openaiMessages, system, toolTurn, user } from "../support/script.ts";

/** A reference that reached a client, and the text that it has to read back. */
export interface Promised {
	readonly ref: string;
	readonly original: string;
}

/** One life of a server. */
export interface Life {
	readonly promised: readonly Promised[];
	/** Calls that it was asked and answered, and those that it was at when it was killed. */
	readonly answered: number;
	readonly unanswered: number;
	readonly greeted: boolean;
}

interface Message {
	readonly role?: string;
	readonly tool_call_id?: string;
	readonly content?: unknown;
}

interface Answer {
	readonly id?: number;
	readonly result?: {
		readonly isError?: boolean;
		readonly structuredContent?: {
			readonly messages?: readonly Message[];
			readonly report: { readonly dropped_groups?: readonly { ref: string; messages: readonly number[] }[] };
		};
	};
}

// While one is answered the next has come, so that there is hardly a moment without work.
const callsAtOnce = 2;

/**
 * Starts the built server with the default archive, asks it for one conversation after the other, each told of nowhere
 * before, and kills it by SIGKILL so many ms after its start, its greeting or its first answer.
 * Reads what it wrote up to the last whole line, as a client does.
 */
export async function liveAndDie(what: {
	readonly home: string;
	readonly name: string;
	readonly since: "start" | "greeting" | "answer";
	readonly afterMs: number;
}): Promise<Life> {
	const { home, name, since, afterMs } = what;
	const child = spawn(process.execPath, [builtCli], {
		cwd: home,
		env: { ...cleanEnvironment(home), PALIMPSEST_ARCHIVE: "files" },
		stdio: ["pipe", "pipe", "ignore"],
	});
	child.stdin.on("error", () => {});
	const closed = once(child, "close");
	const killLater = () => setTimeout(() => child.kill("SIGKILL"), afterMs);
	const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
	const asked = new Map<number, readonly Message[]>();
	const promised: Promised[] = [];
	let [next, answered, greeted] = [1, 0, false];
	const ask = () => {
		const id = next;
		next += 1;
		const messages = conversationOf(`${name} ${id}`);
		asked.set(id, messages);
		send({ id, method: "tools/call", params: callOf(id, messages) });
	};
	createInterface({ input: child.stdout }).on("line", (line) => {
		const answer = parseWhole(line);
		if (answer?.id === undefined) return;
		if (answer.id === 0) {
			greeted = true;
			if (since === "greeting") killLater();
			send({ method: "notifications/initialized" });
			for (let count = 0; count < callsAtOnce; count += 1) ask();
			return;
		}
		answered += 1;
		if (since === "answer" && answered === 1) killLater();
		promised.push(...promisesOf(answer, asked.get(answer.id) ?? []));
		ask();
	});
	const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
	send({ id: 0, method: "initialize", params });
	if (since === "start") killLater();
	await closed;
	return { promised, answered, unanswered: asked.size - answered, greeted };
}

function conversationOf(name: string): readonly Message[] {
	const turns = Array.from({ length: 6 }, (_, turn) => toolTurn(`${name}/${turn}`, outputOf(`${name} ${turn}`)));
	return openaiMessages(system("S"), user("The task."), turns.flat());
}

function outputOf(name: string): string {
	return Array.from({ length: 60 }, (_, line) => `${name} line ${line}: the quick brown fox`).join("\n");
}

function callOf(id: number, messages: readonly Message[]) {
	if (id % 3 === 0) {
		const policy = { guard: { ladder: ["drop"] } };
		return { name: "guard_context", arguments: { messages, context_window: 2500, reserve_tokens: 0, policy } };
	}
	if (id % 3 === 1)
		return { name: "mask_conversation", arguments: { messages, policy: { mask: { window_turns: 1 } } } };
	const policy = { guard: { max_tool_result_chars: 1000, truncate_head_chars: 300, truncate_tail_chars: 300 } };
	return { name: "guard_context", arguments: { messages, context_window: 2000, reserve_tokens: 0, policy } };
}

function parseWhole(line: string): Answer | undefined {
	try {
		return JSON.parse(line) as Answer;
	} catch {
		// A line that the end of the process cut short reached nobody.
		return undefined;
	}
}

/** The references that an answer gives, with what stood there in what was asked. */
function promisesOf({ result }: Answer, asked: readonly Message[]): Promised[] {
	const content = result?.structuredContent;
	if (!content || result?.isError) throw new Error(`Expected an answer; got ${JSON.stringify(result).slice(0, 500)}`);
	const originals = new Map(asked.map((message) => [message.tool_call_id, message.content]));
	const inMessages = (content.messages ?? []).flatMap(({ tool_call_id: id, content: text }): Promised[] => {
		const [, ref] = /\br[ée]f=([a-z0-9]+)/.exec(String(text ?? "")) ?? [];
		return ref === undefined ? [] : [{ ref, original: String(originals.get(id)) }];
	});
	const dropped = (content.report.dropped_groups ?? []).map(({ ref, messages }): Promised => {
		return { ref, original: JSON.stringify(messages.map((index) => asked[index])) };
	});
	return [...inMessages, ...dropped];
}
