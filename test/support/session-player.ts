import { setTimeout } from "node:timers/promises";
import { isThinking } from "./bound-prefix.ts";
import { finalText, outputOf, type SessionScript } from "./scripted-session.ts";
import { readAnswer } from "./streamed-message.ts";

type Json = Readonly<Record<string, unknown>>;

export interface PlayerOptions {
	/** The server, or a proxy before it. A function is asked before each request, so that a session goes on through another. */
	readonly baseUrl: string | (() => string);
	/** The same as that of the stand-in. */
	readonly script: SessionScript;
	readonly model?: string;
	/** Of each request; as Claude Code sends it unless given. */
	readonly thinking?: Json;
	readonly betas?: readonly string[];
	/** As Claude Code sends it unless given; `null` for none. */
	readonly contextManagement?: Json | null;
	/**
	 * After a 400 about thinking, the host takes thinking out of its history and sends the request again, once. `all`, or `named`: from
	 * the block on that the answer's header names, and all where it names none. Claude Code 2.1.332 does the latter.
	 */
	readonly repairs?: "all" | "named";
	/** The message of the role `system` is a text in one request and a list in the next. */
	readonly alternatesSystem?: boolean;
	/** `system` begins with a block that differs in each request, as on Anthropic's own host. */
	readonly hasBillingHeader?: boolean;
	/** Before every so many-th request, the same messages are sent to be counted. */
	readonly countsEvery?: number;
	/** After every so many-th turn, the user says something beside the results. */
	readonly userEvery?: number;
	readonly moves?: readonly Move[];
	/** Before each request, the first has number 1: a test makes something fail here. */
	readonly beforeRequest?: (request: number) => Promise<void> | void;
	/** What the model is shown for a command that is not the script's. */
	readonly run?: (command: string) => Promise<string>;
	/** How often a request is sent again after an error of the connection or of the server. 2 unless given. */
	readonly retries?: number;
}

/**
 * When the first branch has so many turns, it goes back to an earlier one. A fork goes on from there beside the first branch,
 * request by request in turns; a rewind drops what came behind, and the user says something.
 */
export interface Move {
	readonly kind: "fork" | "rewind";
	readonly at: number;
	readonly to: number;
}

export interface PlayedSession {
	/** Sent for an answer, those sent again among them. */
	readonly requests: number;
	/** Everything that was no answer, also where the host went on. Status 0: the connection failed. */
	readonly errors: readonly PlayerError[];
	/** Times at which the host took thinking out of its history. */
	readonly repairs: number;
	/** The last answer of each branch; none where it died. */
	readonly answers: readonly (string | undefined)[];
	/** Every branch ended with the answer of a session in which the model saw every file. */
	readonly isRight: boolean;
	/** Blocks of thinking in the histories at the end. */
	readonly thinkingBlocks: number;
	/** Entries of `input_transformations` in all answers. */
	readonly transformations: number;
	/** The history of each branch. */
	readonly histories: readonly (readonly Json[])[];
}

export interface PlayerError {
	readonly request: number;
	readonly path: string;
	readonly status: number;
	readonly message: string;
}

interface Received {
	readonly status: number;
	readonly body: string;
	readonly mismatch?: string | undefined;
}

interface Branch {
	messages: Json[];
	/** Length of the messages at the end of each turn; at 0, before the first. */
	ends: number[];
	state: "running" | "dead" | { readonly answer: string };
}

/**
 * An agent program that speaks Anthropic's Messages over HTTP as Claude Code does: it keeps its whole history, thinking
 * included, sends it with each request, streams the answers, and marks two blocks of `system` and the last message for the
 * cache.
 */
export async function playSession(options: PlayerOptions): Promise<PlayedSession> {
	const { script, retries = 2 } = options;
	const errors: PlayerError[] = [];
	const moves = [...(options.moves ?? [])];
	let [requests, repairs, transformations] = [0, 0, 0];
	const first: Branch = { messages: beginning(options), ends: [beginning(options).length], state: "running" };
	const branches = [first];

	for (;;) {
		const running = branches.filter(({ state }) => state === "running");
		if (running.length === 0) break;
		for (const branch of running) {
			await step(branch);
			if (branch === first) move();
		}
	}
	const answers = branches.map(({ state }) => (typeof state === "object" ? state.answer : undefined));
	const histories = branches.map(({ messages }) => messages);
	return {
		requests,
		errors,
		repairs,
		answers,
		isRight: answers.every((answer) => answer?.startsWith(finalText(script)) === true),
		thinkingBlocks: histories.flat().flatMap(contentOf).filter(isThinking).length,
		transformations,
		histories,
	};

	async function step(branch: Branch): Promise<void> {
		const content = await ask(branch);
		if (content === undefined) {
			branch.state = "dead";
			return;
		}
		branch.messages.push({ role: "assistant", content });
		const calls = content.filter(({ type }) => type === "tool_use");
		if (calls.length === 0) {
			branch.state = { answer: content.map(({ text }) => text ?? "").join("") };
			return;
		}
		const results = await Promise.all(calls.map(resultOf));
		const turn = branch.ends.length;
		const says = options.userEvery !== undefined && turn % options.userEvery === 0;
		branch.messages.push({ role: "user", content: [...results, ...(says ? [text(`Note ${turn}: go on.`)] : [])] });
		branch.ends.push(branch.messages.length);
	}

	async function resultOf({ id, input }: Json): Promise<Json> {
		const { command } = input as { command?: string };
		const output = outputOf(script, command ?? "") ?? (await options.run?.(command ?? "")) ?? "command not found";
		return { type: "tool_result", tool_use_id: id, content: output };
	}

	/** The content of the answer; nothing if the host cannot go on. */
	async function ask(branch: Branch): Promise<readonly Json[] | undefined> {
		let hasRepaired = false;
		for (let tries = 0; tries <= retries; ) {
			requests += 1;
			await options.beforeRequest?.(requests);
			if (options.countsEvery !== undefined && requests % options.countsEvery === 0) await count(branch);
			const { status, body, mismatch } = await send("/v1/messages?beta=true", requestOf(branch.messages, requests));
			const answer = status === 200 ? readAnswer(body) : undefined;
			if (answer?.kind === "message") {
				transformations += answer.transformations.length;
				return answer.content;
			}
			const message = answer?.message ?? body;
			errors.push({ request: requests, path: "/v1/messages", status, message });
			if (status === 400 && options.repairs && !hasRepaired && isAboutThinking(message)) {
				hasRepaired = true;
				repairs += 1;
				const from = options.repairs === "named" ? mismatch : undefined;
				branch.messages = branch.messages.map((one, index) => withoutThinking(one, index, from));
				continue;
			}
			if (status !== 0 && status !== 200 && status !== 429 && status < 500) return undefined;
			tries += 1;
			await setTimeout(20);
		}
		return undefined;
	}

	async function count({ messages }: Branch): Promise<void> {
		const { max_tokens, stream, metadata, ...counted } = requestOf(messages, requests);
		const { status, body } = await send("/v1/messages/count_tokens?beta=true", counted);
		if (status !== 200) errors.push({ request: requests, path: "/v1/messages/count_tokens", status, message: body });
	}

	async function send(path: string, body: Json): Promise<Received> {
		const base = typeof options.baseUrl === "string" ? options.baseUrl : options.baseUrl();
		const headers = {
			"content-type": "application/json",
			"anthropic-version": "2023-06-01",
			"anthropic-beta": (options.betas ?? usualBetas).join(","),
			"x-api-key": "player-key",
		};
		try {
			const response = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body) });
			const mismatch = response.headers.get("anthropic-thinking-prefix-mismatch") ?? undefined;
			return { status: response.status, body: await response.text(), mismatch };
		} catch (error) {
			return { status: 0, body: String(error instanceof Error ? (error.cause ?? error) : error) };
		}
	}

	function requestOf(messages: readonly Json[], request: number): Json {
		const { model = "claude-opus-5-5", thinking = usualThinking, hasBillingHeader, alternatesSystem } = options;
		const { contextManagement = usualContextManagement } = options;
		const billing = text(`x-anthropic-billing-header: cc_version=2.1; cch=${request}; cc_prev_req=${request - 1};`);
		const sent = messages.map((message) => {
			const isListed = alternatesSystem && message.role === "system" && request % 2 === 0;
			return isListed ? { ...message, content: [text(String(message.content))] } : message;
		});
		return {
			model,
			max_tokens: 32_000,
			stream: true,
			thinking,
			...(contextManagement === null ? {} : { context_management: contextManagement }),
			metadata: { user_id: `request-${request}` },
			system: [...(hasBillingHeader ? [billing] : []), ...system],
			tools,
			messages: [...sent.slice(0, -1), markedLast(sent.at(-1) as Json)],
		};
	}

	function move(): void {
		const due = moves.findIndex(({ at }) => first.ends.length > at);
		const [next] = due === -1 ? [] : moves.splice(due, 1);
		if (next === undefined || first.state !== "running") return;
		const messages = first.messages.slice(0, first.ends[next.to]);
		const ends = first.ends.slice(0, next.to + 1);
		if (next.kind === "fork") {
			branches.push({ messages, ends, state: "running" });
			return;
		}
		const said = text(`Back to turn ${next.to}: go on from there.`);
		const last = messages.at(-1) as Json;
		first.messages =
			last.role === "user"
				? [...messages.slice(0, -1), { ...last, content: [...contentOf(last), said] }]
				: [...messages, { role: "user", content: [said] }];
		first.ends = ends;
	}
}

const usualContextManagement = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };
const usualThinking = { type: "adaptive", display: "omitted" };
const usualBetas = [
	"interleaved-thinking-2025-05-14",
	"context-management-2025-06-27",
	"mid-conversation-tool-changes-2026-07-01",
];
const mark = { cache_control: { type: "ephemeral" } };

const rule = (number: number) => `Rule ${number}: read each file once, and name it by its path ${number}.`;
const system = [
	{ ...text("You are an agent that reads the files of a project."), ...mark },
	{ ...text(Array.from({ length: 80 }, (_, number) => rule(number + 1)).join("\n")), ...mark },
];

const schema = { type: "object", properties: { command: { type: "string" } }, required: ["command"] };
const tools = ["Bash", "Read", "Grep"].map((name) => {
	const description = `${name}: runs in the project's folder and returns what it wrote. `.repeat(12);
	return { name, description, input_schema: schema };
});

function beginning({ alternatesSystem }: PlayerOptions): Json[] {
	const task = { role: "user", content: [text("Read every module of this project, and say when the work is done.")] };
	return alternatesSystem
		? [task, { role: "system", content: "The folder is the project's. Today is Friday." }]
		: [task];
}

function text(words: string): Json & { readonly type: "text" } {
	return { type: "text", text: words };
}

function contentOf({ content }: Json): readonly Json[] {
	return typeof content === "string" ? [text(content)] : (content as Json[]);
}

function markedLast(message: Json): Json {
	// Claude Code marks no message of the role system.
	if (message.role === "system") return message;
	const content = contentOf(message);
	return { ...message, content: [...content.slice(0, -1), { ...content.at(-1), ...mark }] };
}

/** Without its thinking from the block on that a header names, such as `block=messages.4.content.0;kind=blocks_modified`. */
function withoutThinking(message: Json, index: number, from = ""): Json {
	if (message.role !== "assistant") return message;
	const [, first = 0, block = 0] = (/^block=messages\.(\d+)\.content\.(\d+)/.exec(from) ?? []).map(Number);
	const isBefore = (place: number) => index < first || (index === first && place < block);
	return { ...message, content: contentOf(message).filter((one, place) => !isThinking(one) || isBefore(place)) };
}

function isAboutThinking(message: string): boolean {
	return /bound to a different conversation|Invalid `(?:signature|data)`|thinking/.test(message);
}
