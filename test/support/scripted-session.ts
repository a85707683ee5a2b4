import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRandom, pick } from "../bench/random.ts";
import type { Api } from "./provider-cache.ts";

type Json = Readonly<Record<string, unknown>>;

/** A session in which the model reads one file of a project a turn, and then says how many it has seen. */
export interface SessionScript {
	readonly toolTurns: number;
	/** Characters of a file. */
	readonly fileChars: number;
	/** After the last file, the model recalls what the first placeholder or notice names: by the tool, else by the command. */
	readonly recalls?: boolean;
	/** After the last file, the model needs a line of the file of so many turns before, and recalls it if it is out of view. */
	readonly needsOld?: number;
	/** Files that the model asks for in one answer; one unless given. Anthropic's Messages only. */
	readonly parallelCalls?: number;
}

/** A tool that a request offers, with the JSON Schema of its arguments. */
export interface OfferedTool {
	readonly name: string;
	/** Codex groups the tools of an MCP server under its name. */
	readonly namespace?: string;
	readonly schema: Json;
}

export type ScriptedAnswer =
	| {
			readonly kind: "call";
			readonly turn: number;
			readonly tool: string;
			/** Of OpenAI's Responses only. */
			readonly namespace?: string | undefined;
			readonly input: Json;
			/** Arguments of further calls of the same tool in this answer. */
			readonly parallel?: readonly Json[];
	  }
	| { readonly kind: "text"; readonly text: string };

export const sideAnswer = "A short title";

/** The last answer of a session in which every result reached the model when it was new, and the old one when it was needed. */
export function finalText(script: SessionScript, old: keyof typeof oldTexts = "in_view"): string {
	return textAtEnd(script, script.toolTurns, old);
}

const oldTexts = {
	in_view: "The old one was in view.",
	recalled: "The old one was recalled.",
	lost: "The old one is lost.",
} as const;

function textAtEnd({ toolTurns, needsOld }: SessionScript, seen: number, old: keyof typeof oldTexts): string {
	return `Saw ${seen} of ${toolTurns} files. ${needsOld === undefined ? "" : `${oldTexts[old]} `}The work is done.`;
}

/** Behind the last answer, if the command of a placeholder brought a file back. */
export const recallText = "Recalled one.";

export const fileName = (turn: number) => `module-${String(turn).padStart(2, "0")}.ts`;
/** Stands in the first and in the last line of a file, so that a cut text still shows it. */
export const marker = (turn: number) => `seen-${turn * 7919}-${fileName(turn)}`;

/** Writes the files that the session reads. The same files for the same script. */
export async function writeProject(folder: string, script: SessionScript): Promise<void> {
	await mkdir(folder, { recursive: true });
	for (let turn = 1; turn <= script.toolTurns; turn += 1) {
		await writeFile(join(folder, fileName(turn)), fileText(script, turn));
	}
}

/** What a program shows the model for a command of the script; nothing for another command. */
export function outputOf(script: SessionScript, command: string): string | undefined {
	const turn = Number(/^cat module-(\d+)\.ts$/.exec(command)?.[1]);
	return turn >= 1 && turn <= script.toolTurns ? fileText(script, turn) : undefined;
}

export function fileText({ fileChars }: SessionScript, turn: number): string {
	const edge = `// ${marker(turn)}\n`;
	return edge + sourceText(turn, fileChars - 2 * edge.length) + edge;
}

/**
 * The next answer of the script, from the request alone: the calls in it say how far the session is. `seen` collects the
 * turns whose newest result arrived with its marker. A request without a shell tool is a side request (a title, a summary).
 */
export function nextAnswer(script: SessionScript, api: Api, body: Json, seen: Set<number>): ScriptedAnswer {
	const tool = shellTool(api, body);
	if (tool === undefined) return { kind: "text", text: answerInForm(body) ?? sideAnswer };
	const calls = callsIn(api, body).map((call) => JSON.stringify(call));
	// Some programs drop their oldest messages, so the calls are not counted.
	const turn = Number(calls.map((call) => /module-(\d+)\.ts/.exec(call)?.[1]).findLast((one) => one) ?? 0);
	const tail = JSON.stringify(messagesOf(api, body).slice(-3));
	const atOnce = api === "anthropic" ? (script.parallelCalls ?? 1) : 1;
	for (let one = Math.max(1, turn - atOnce + 1); one <= turn; one += 1) if (tail.includes(marker(one))) seen.add(one);
	const run = (next: number, command: string) => {
		return { kind: "call", turn: next, tool: tool.name, input: argumentsFor(tool.schema, command) } as const;
	};
	// Qwen Code loses some outputs on a busy machine, and a model asks again.
	if (turn > 0 && /Output: \(empty\)/.test(JSON.stringify(messagesOf(api, body).at(-1))))
		return run(turn, `cat ${fileName(turn)}`);
	if (turn < script.toolTurns) {
		const next = Array.from({ length: Math.min(atOnce, script.toolTurns - turn) }, (_, place) => turn + 1 + place);
		const [command = "", ...more] = next.map((one) => `cat ${fileName(one)}`);
		const parallel = more.map((one) => argumentsFor(tool.schema, one));
		return { ...run(turn + 1, command), ...(parallel.length > 0 ? { parallel } : {}) };
	}
	const messages = messagesOf(api, body);
	const recall = recallCall(JSON.stringify(messages), offeredTools(api, body));
	const recallRun = (ref: string, part: "head" | "tail", lines: number): ScriptedAnswer => {
		if (recall?.kind === "tool")
			return { kind: "call", turn: turn + 1, tool: recall.tool, input: { ref, [part]: lines } };
		// One placeholder of a request says how originals are read.
		return run(turn + 1, `${recall?.command.replace(/\w+$/, ref)} --${part} ${lines}`);
	};
	const old = oldResult(script, messages, calls);
	const ofOld = referenceIn(JSON.stringify(messagesFromCall(messages, script)));
	if (old === "masked" && recall && ofOld) return recallRun(ofOld, "head", 30);
	const done = textAtEnd(script, seen.size, old === "masked" ? "lost" : old);
	if (!script.recalls || recall === undefined) return { kind: "text", text: done };
	if (!/recall/.test(calls.at(-1) ?? "")) return recallRun(recall.ref, "tail", 20);
	// By a name in a line: a program may have cut the lines at both ends.
	// A program may have cut the beginning of a file, so the end of it is asked for.
	const recalled = Array.from(tail.matchAll(/const [a-z]+(\d+)x\d+ =/g), ([, number]) => Number(number));
	return { kind: "text", text: `${done} ${recalled.some((one) => one !== turn) ? recallText : "Recall failed."}` };
}

function oldResult(script: SessionScript, messages: readonly Json[], calls: readonly string[]) {
	const { toolTurns, needsOld } = script;
	if (needsOld === undefined) return "in_view";
	const hasRecalled = /recall/.test(calls.at(-1) ?? "");
	const isThere = new RegExp(`[a-z]${toolTurns - needsOld}x3 =`).test(JSON.stringify(messages));
	if (isThere) return hasRecalled ? "recalled" : "in_view";
	return hasRecalled ? "lost" : "masked";
}

/** The call that read the old file, and what came next: its result. */
function messagesFromCall(messages: readonly Json[], { toolTurns, needsOld = 0 }: SessionScript): readonly Json[] {
	const command = `cat ${fileName(toolTurns - needsOld)}`;
	const place = messages.findIndex((message) => JSON.stringify(message).includes(command));
	return place === -1 ? [] : messages.slice(place, place + 3);
}

/** How an original is read, in the words of the placeholder or the notice that names it. */
function recallCall(messages: string, tools: readonly OfferedTool[]) {
	const tool = tools.find(({ name }) => name.endsWith("recall_original"))?.name;
	const ref = referenceIn(messages);
	if (tool !== undefined && ref !== undefined) return { kind: "tool", tool, ref } as const;
	const command = /`([^`]+ recall \w+)`|All of it: ([^\]]+ recall [a-z]\w+)\]/
		.exec(messages)
		?.slice(1)
		.find((one) => one);
	const named = command === undefined ? undefined : /\w+$/.exec(command)?.[0];
	return named === undefined ? undefined : ({ kind: "command", command: command as string, ref: named } as const);
}

function referenceIn(messages: string): string | undefined {
	return /\[masked [^\]]* #(\w+)\]|[ ,]ref=([a-z]\w+)\)?\]| recall ([a-z]\w+)\]/
		.exec(messages)
		?.slice(1)
		.find((one) => one);
}

/** JSON where a request to Gemini wants it: Gemini CLI asks in this way whether a session goes in circles. */
function answerInForm(body: Json): string | undefined {
	const { responseMimeType, responseJsonSchema, responseSchema } = (body.generationConfig ?? {}) as Json;
	if (responseMimeType !== "application/json") return undefined;
	const { properties = {} } = (responseJsonSchema ?? responseSchema ?? {}) as {
		properties?: Readonly<Record<string, Json>>;
	};
	return JSON.stringify(
		Object.fromEntries(Object.entries(properties).map(([name, shape]) => [name, plainValue(shape, 0)])),
	);
}

const shellNames =
	/^_?(?:bash|shell|exec|exec_command|execute|execute_bash|shell_command|run_shell_command|execute_command|run_commands?|run_terminal_cmd)$/i;

export function shellTool(api: Api, body: Json): OfferedTool | undefined {
	return offeredTools(api, body).find(({ name }) => shellNames.test(name));
}

export function offeredTools(api: Api, body: Json): OfferedTool[] {
	return list(body.tools).flatMap((tool) => {
		if (api === "anthropic") return [toolOf(tool.name, tool.input_schema)];
		if (api === "openai-responses" && tool.type === "namespace") {
			const namespace = String(tool.name);
			return list(tool.tools).map(({ name, parameters }) => ({ ...toolOf(name, parameters), namespace }));
		}
		if (api === "openai-responses") return [toolOf(tool.name, tool.parameters)];
		if (api === "openai-chat") {
			const described = (tool.function ?? {}) as Json;
			return [toolOf(described.name, described.parameters)];
		}
		const declared = list(tool.functionDeclarations ?? tool.function_declarations);
		return declared.map(({ name, parameters, parametersJsonSchema }) =>
			toolOf(name, parametersJsonSchema ?? parameters),
		);
	});
}

function toolOf(name: unknown, schema: unknown): OfferedTool {
	return { name: String(name), schema: (schema ?? {}) as Json };
}

export function messagesOf(api: Api, body: Json): readonly Json[] {
	if (api === "gemini") return list(body.contents);
	return list(api === "openai-responses" ? body.input : body.messages);
}

export function callsIn(api: Api, body: Json): readonly Json[] {
	const messages = messagesOf(api, body);
	if (api === "openai-responses") return messages.filter(({ type }) => type === "function_call");
	if (api === "openai-chat") return messages.flatMap(({ tool_calls }) => list(tool_calls));
	if (api === "gemini") return messages.flatMap(({ parts }) => list(parts)).filter((part) => part.functionCall);
	return messages.flatMap(({ content }) => list(content)).filter(({ type }) => type === "tool_use");
}

/** Arguments that the tool's schema takes: the command in its place, the plainest value for what else is required. */
export function argumentsFor(schema: Json, command: string): Json {
	const properties = (schema.properties ?? {}) as Readonly<Record<string, Json>>;
	const required = Array.isArray(schema.required) ? (schema.required as string[]) : [];
	const named = ["command", "cmd", "commands", "script"].find((name) => name in properties) ?? "command";
	const wanted = [...new Set([named, ...required])];
	return Object.fromEntries(
		wanted.map((name) => {
			const shape = properties[name] ?? {};
			return [name, name === named ? commandValue(name, shape, command) : plainValue(shape, 60_000)];
		}),
	);
}

function commandValue(name: string, shape: Json, command: string): unknown {
	const isList = typeOf(shape) === "array" || (typeOf(shape) === undefined && name === "commands");
	if (!isList) return command;
	// Codex's shell takes the words of a process; others take a list of command lines.
	return name === "command" ? ["bash", "-lc", command] : [command];
}

function plainValue(shape: Json, number: number): unknown {
	const choices = list(shape.anyOf ?? shape.oneOf);
	// A strict schema requires every argument, and takes null for those that are optional.
	if (choices.some(({ type }) => type === "null") || (Array.isArray(shape.type) && shape.type.includes("null")))
		return null;
	if (choices[0]) return plainValue(choices[0], number);
	if (Array.isArray(shape.enum)) return shape.enum[0];
	const type = typeOf(shape);
	if (type === "boolean") return false;
	if (type === "number" || type === "integer") return number;
	if (type === "array") return [];
	return type === "object" ? {} : "Read a file";
}

function typeOf({ type }: Json): string | undefined {
	const first = Array.isArray(type) ? type[0] : type;
	return typeof first === "string" ? first.toLowerCase() : undefined;
}

const words = "load store parse check index render update merge select filter gather resolve".split(" ");
const nouns = "account order invoice session record message cursor window budget ledger token report".split(" ");

/** Lines that look like a source file; each file has names of its own. */
function sourceText(seed: number, chars: number): string {
	const random = createRandom(seed);
	let text = "";
	for (let line = 1; text.length < chars; line += 1) {
		const name = `${pick(random, words)}${pick(random, nouns)}${seed}x${line}`;
		const rest = `${pick(random, words)}(input.${pick(random, nouns)}, ${Math.floor(random() * 9000)})`;
		text += `export const ${name} = (input: Input) => ${rest};\n`;
	}
	return `${text.slice(0, chars - 1)}\n`;
}

function list(value: unknown): readonly Json[] {
	return Array.isArray(value) ? (value as Json[]) : [];
}
