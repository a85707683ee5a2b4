import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { JsonObject } from "../../../src/engine/conversation/json.ts";
import type { Row } from "../../../src/hosts/mod/compaction.ts";
import type { Engine, HookStartEvent, On } from "../../../src/hosts/mod/engine.ts";
import { register } from "../../../src/hosts/mod/register.ts";

type Handler = ($: Engine, event: unknown, next: (event: unknown) => unknown) => unknown;

export type Fault = "write" | "stat" | "read" | "hang" | "handler" | "command";

/** Claude Code as a mod sees it: its events one by one, and its files, some of which may fail. */
export async function startEngine(given: {
	readonly home: string;
	readonly options?: JsonObject;
	readonly variables?: Readonly<Record<string, string>>;
	readonly transcript?: string;
	/** What servers on loopback answer, by address. */
	readonly answers?: Readonly<Record<string, string>>;
	/** What Claude Code tells of a session that goes on. */
	readonly resumed?: HookStartEvent;
	readonly rows?: readonly Row[];
}) {
	const { home, options = {}, variables = {}, transcript = `${home}/.claude/projects/p/s.jsonl` } = given;
	const { answers = {}, resumed = { source: "startup" }, rows = [] } = given;
	const conversation: { rows: readonly Row[]; sent: readonly { content: unknown }[]; tokens: number | undefined } = {
		rows,
		sent: [],
		tokens: undefined,
	};
	const [commands, ran, drafts, choices]: [JsonObject[], string[], string[], number[]] = [[], [], [], []];
	const environment: Record<string, string | undefined> = { HOME: home, LANG: "C.UTF-8", ...variables };
	const handlers = new Map<string, { readonly handler: Handler; readonly caught: Handler }>();
	const registered: JsonObject[] = [];
	const logged: string[] = [];
	let fault: Fault | undefined;
	const failing = (kind: Fault, path: string) => {
		if (fault === kind) throw new Error(`palimpsest: $.fs.${kind}(${path}) failed: EIO`);
	};
	const withCode = (operation: string, path: string) => (error: NodeJS.ErrnoException) => {
		throw new Error(`palimpsest: $.fs.${operation}(${path}) failed: ${error.code}`);
	};
	const $: Engine = {
		session: {
			id: async () => "10a1f8a2-9bd8-429d-8b1f-ceaccdb918d2",
			root: async () => `${home}/project`,
			info: async () => ({ transcriptPath: transcript, platform: "linux" }),
			model: async () => "claude-opus-5-5",
			messages: (async (form?: { readonly as: "api" }) => (form ? conversation.sent : conversation.rows)) as never,
			usage: async () => ({
				context: {
					window: 200_000,
					...(conversation.tokens === undefined ? {} : { tokens: conversation.tokens }),
					breakdown: { rawMaxTokens: 200_000, categories: [{ name: "Messages", tokens: 1_000, kind: "used" }] },
				},
			}),
		},
		env: {
			get: async (name) => environment[name],
			set: async (name, value) => Object.assign(environment, { [name]: value }),
		},
		fs: {
			async read(path) {
				failing("read", path);
				return readFile(path, "utf8").catch(withCode("read", path));
			},
			async write(path, text) {
				failing("write", path);
				if (fault === "hang") return new Promise(() => {});
				await mkdir(dirname(path), { recursive: true });
				await writeFile(path, text);
			},
			list: async (path) => (await readdir(path)).map((name) => ({ name })),
			async stat(path) {
				failing("stat", path);
				return stat(path).catch(withCode("stat", path));
			},
		},
		process: { run: async ([, , path = ""]) => utimes(path, new Date(), new Date()) },
		agent: { list: async () => [{ id: "a1", type: "Explore" }] },
		tool: { register: async (tool) => void registered.push(tool as JsonObject) },
		command: {
			register: async (command) => void commands.push(command as JsonObject),
			async run({ command }) {
				if (fault === "command") throw new Error("palimpsest: $.command.run: a turn is running");
				ran.push(command);
			},
		},
		prompt: { fill: async ({ text }) => void drafts.push(text) },
		http: {
			async fetch(url) {
				const answer = answers[url];
				if (answer === undefined) throw new Error("palimpsest: $.http.fetch failed: ECONNREFUSED");
				return { ok: true, text: answer };
			},
		},
		ui: {
			log: (text) => void logged.push(text),
			async ask(_, options) {
				const answer = choices.shift();
				if (answer === undefined) throw new Error("palimpsest: $.ui.ask: dismissed");
				const { options: offered = [] } = options as { readonly options?: readonly string[] };
				return offered[answer] ?? "";
			},
		},
	};
	const on = (event: string, ...rest: readonly unknown[]) => {
		const [matcher, handler] =
			rest.length === 2 ? (rest as [Readonly<Record<string, string>>, Handler]) : [undefined, rest[0] as Handler];
		const entry = { handler, caught: handler };
		handlers.set(matcher === undefined ? event : `${event} ${Object.values(matcher)[0]}`, entry);
		return {
			catch(caught: Handler): void {
				entry.caught = caught;
			},
		};
	};
	register(on as unknown as On, options);

	const raise = async (name: string, event: unknown, bottom: (event: unknown) => unknown = (passed) => passed) => {
		const { handler, caught } = handlers.get(name) as { handler: Handler; caught: Handler };
		try {
			if (fault === "handler") throw new Error("A fault inside.");
			return await handler($, event, bottom);
		} catch {
			return caught($, event, bottom);
		}
	};
	await raise("classic.SessionStart", { hook_event_name: "SessionStart", ...resumed });
	await raise("session.start", { cwd: `${home}/project` });

	return {
		environment,
		registered,
		logged,
		/** Commands that the mod registered and ran, and what it wrote into the prompt. */
		commands,
		ran,
		drafts,
		/** The next answers of a person, by their places among what is offered. */
		choices,
		conversation,
		/** A compaction; `undefined` where Claude Code summarises. */
		async compact(how: { readonly trigger?: string; readonly agentId?: string; readonly instructions?: string } = {}) {
			const event = { trigger: "auto", messages: conversation.rows, ...how };
			let isSummarised = false;
			const answer = await raise("session.compact", event, () => {
				isSummarised = true;
				return { messages: [] };
			});
			return isSummarised ? undefined : (answer as { readonly messages?: readonly Row[]; readonly skip?: string });
		},
		palimpsest: async (args = "") =>
			((await raise("command.run palimpsest", { command: "palimpsest", args })) as { readonly text: string }).text,
		/** From now on. */
		fail(kind: Fault | undefined): void {
			fault = kind;
		},
		raise,
		/** A call of the model and its result; returns the row that is stored. */
		async result(
			content: unknown,
			call: { readonly id?: string; readonly tool?: string; readonly input?: object; readonly failed?: boolean } = {},
		) {
			const { id = "toolu_1", tool = "Bash", input = { command: "npm test" }, failed = false } = call;
			const message = { type: "assistant", role: "assistant", content: [{ type: "tool_use", id, name: tool, input }] };
			await raise("session.append", { door: "response", message });
			const block = { type: "tool_result", tool_use_id: id, content, is_error: failed };
			const row = { type: "user", role: "user", content: [block] };
			const event = { door: "tool-result", origin: { kind: "tool", tool }, message: row };
			const stored = (await raise("session.append", event)) as typeof event;
			return (stored.message.content[0] as typeof block).content;
		},
		recall: async (input: object) =>
			(await raise("tool.call mcp__palimpsest__recall_original", {
				tool: "mcp__palimpsest__recall_original",
				...input,
			})) as JsonObject,
		/** A request of the model that has been answered. */
		async step(usage: object, agentId?: string, effort?: string) {
			const { handler } = handlers.get("turn.step") as { handler: Handler };
			const of = { ...(agentId === undefined ? {} : { agentId }), ...(effort === undefined ? {} : { effort }) };
			const event = { turnId: "t", index: 0, ...of };
			const answered = async function* () {
				yield { kind: "text" };
				return { usage };
			};
			const steps = handler($, event, answered) as AsyncGenerator<unknown, unknown>;
			const passed: unknown[] = [];
			for (;;) {
				const { done, value } = await steps.next();
				if (done) return { passed, result: value };
				passed.push(value);
			}
		},
	};
}
