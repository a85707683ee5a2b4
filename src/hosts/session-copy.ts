import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { PalimpsestError } from "../errors.ts";
import { type ValueEdit, writeValues } from "../json-text/edit.ts";
import type { TextDocument } from "../json-text/read.ts";
import { listOf, numberAt, objectOf, sha256Of, stringAt } from "../json-text/value.ts";
import { shellWord } from "./own-command.ts";

/** A session under an id of its own, next to the one that it is made from. */
export interface SessionCopy {
	readonly file: string;
	readonly text: string;
	/** The folder in which its program finds it, if the session names it. */
	readonly folder: string | undefined;
	/** Lines of a shell that resume it. */
	readonly command: string;
}

/** How a program names its sessions, finds them, and remembers the share of the window that they use. */
interface SessionProgram {
	readonly sessionId: (document: unknown) => string | undefined;
	readonly folder: (document: unknown, file: string) => string | undefined;
	readonly name: (given: { readonly id: string; readonly name: string; readonly now: Date }) => string;
	readonly command: (given: { readonly id: string; readonly file: string }) => string;
	readonly usage: (document: unknown, tokens: number) => readonly ValueEdit[];
	readonly newId?: (old: string) => string;
	/** Other ids that may occur only once in all sessions. */
	readonly renamed?: { readonly ids: RegExp; readonly newId: (old: string, sessionId: string) => string };
}

/** Programs by the name of the session's format. */
const programs: Readonly<Record<string, SessionProgram>> = {
	"claude-code": {
		sessionId: (document) => lastText(document, "sessionId"),
		folder: (document) => lastText(document, "cwd"),
		name: ({ id }) => `${id}.jsonl`,
		command: ({ id }) => `claude --resume ${id}`,
		usage: claudeUsage,
	},
	"codex-rollout": {
		sessionId: (document) => stringAt(codexHeader(document), "id"),
		folder: (document) => stringAt(codexHeader(document), "cwd"),
		name: ({ id, now }) => `rollout-${now.toISOString().slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`,
		command: ({ id }) => `codex resume ${id}`,
		usage: codexUsage,
	},
	opencode: {
		sessionId: (document) => stringAt(objectOf(objectOf(document).info), "id"),
		folder: (document) => stringAt(objectOf(objectOf(document).info), "directory"),
		name: ({ name }) => `${name.replace(/\.json$/, "")}-rescued.json`,
		command: ({ id, file }) => `opencode import ${shellWord(file)} && opencode --session ${id}`,
		usage: opencodeUsage,
		// Its sessions are listed by their ids, which descend; its messages are sent in the order of theirs.
		newId: (old) => withNewEnd(old, randomUUID()),
		renamed: { ids: /"((?:msg|prt)_[0-9a-f]{12}[0-9A-Za-z]{14})"/g, newId: withNewEnd },
	},
	pi: {
		sessionId: (document) => stringAt(objectOf(listOf(document)[0]), "id"),
		folder: (document) => stringAt(objectOf(listOf(document)[0]), "cwd"),
		name: ({ id, now }) => `${now.toISOString().replace(/[:.]/g, "-")}_${id}.jsonl`,
		command: ({ file }) => `pi --session ${shellWord(file)}`,
		usage: piUsage,
	},
	"gemini-cli": {
		sessionId: (document) =>
			Array.isArray(document) ? lastText(document, "sessionId") : stringAt(objectOf(document), "sessionId"),
		folder: (_, file) => readText(join(dirname(dirname(file)), ".project_root")),
		// Gemini CLI finds a session by the first eight characters of its id.
		name: ({ id, name, now }) =>
			`session-${now.toISOString().slice(0, 16).replaceAll(":", "-")}-${id.slice(0, 8)}${/\.jsonl?$/.exec(name)?.[0] ?? ".jsonl"}`,
		command: ({ id }) => `gemini --resume ${id}`,
		usage: geminiUsage,
	},
};

/** Throws PalimpsestError `invalid_argument` for a document that is not a session of a program that can resume one. */
export function requireSession(
	format: { readonly name: string; readonly title: string },
	document: unknown,
): { readonly program: SessionProgram; readonly old: string } {
	const program = Object.hasOwn(programs, format.name) ? programs[format.name] : undefined;
	const old = program?.sessionId(document);
	if (program !== undefined && old !== undefined) return { program, old };
	const got = program === undefined ? format.title : `${format.title} without its id`;
	const message = `Expected a session file of Claude Code, Codex, pi or Gemini CLI, or the output of \`opencode export\`; got ${got}. palimpsest guard prints any conversation made to fit.`;
	throw new PalimpsestError("invalid_argument", message);
}

/**
 * A session under a new id. Programs decide by the usage of the last answer whether there is room to go on, so that becomes
 * `tokens`. Throws as `requireSession` does.
 */
export function copySession(session: {
	readonly format: { readonly name: string; readonly title: string };
	readonly document: TextDocument;
	readonly file: string;
	readonly tokens: number;
	readonly now?: Date;
}): SessionCopy {
	const { format, document, file, tokens, now = new Date() } = session;
	const { program, old } = requireSession(format, document.value);
	const id = program.newId?.(old) ?? randomUUID();
	const counted = writeValues(document, program.usage(document.value, tokens));
	// Only a whole string of JSON is replaced: where a text quotes the id, a backslash comes before the quotation mark.
	let text = counted.replaceAll(JSON.stringify(old), JSON.stringify(id));
	const { renamed } = program;
	if (renamed) text = text.replace(renamed.ids, (_, one: string) => JSON.stringify(renamed.newId(one, id)));
	const copy = join(dirname(file), program.name({ id, name: basename(file), now }));
	return {
		file: copy,
		text,
		folder: program.folder(document.value, file),
		command: program.command({ id, file: copy }),
	};
}

function readText(file: string): string | undefined {
	try {
		return readFileSync(file, "utf8").trim();
	} catch {
		return undefined;
	}
}

/** The first 16 characters are the kind and the time of an id, by which opencode sorts. */
function withNewEnd(old: string, seed: string): string {
	return old.slice(0, 16) + sha256Of(`${old} ${seed}`).slice(0, 14);
}

function lastText(document: unknown, key: string): string | undefined {
	const record = listOf(document).findLast((one) => stringAt(objectOf(one), key) !== undefined);
	return stringAt(objectOf(record), key);
}

/** The header, also of the first versions, which wrote it without a record around it. */
function codexHeader(document: unknown): JsonObject {
	const records = listOf(document).map(objectOf);
	const header = records.find(({ type }) => type === "session_meta");
	return header ? objectOf(header.payload) : objectOf(records[0]);
}

// ---- The usage of the last answer ----

type Place = readonly (string | number)[];

/** Nothing if there is no usage. Sets only members that it has. */
function replaceAt(path: Place, before: unknown, changed: (usage: JsonObject) => JsonObject): ValueEdit[] {
	if (!isJsonObject(before)) return [];
	const known = Object.entries(changed(before)).filter(([key]) => Object.hasOwn(before, key));
	return [{ kind: "replace", path, replacement: { ...before, ...Object.fromEntries(known) } }];
}

const outputIn = (usage: JsonObject, key = "output") => numberAt(usage, key) ?? 0;

function claudeUsage(document: unknown, tokens: number): ValueEdit[] {
	const messages = listOf(document).map((record) => objectOf(objectOf(record).message));
	const isAnswer = ({ role, usage, model }: JsonObject) =>
		role === "assistant" && isJsonObject(usage) && model !== "<synthetic>";
	const last = messages.findLast(isAnswer);
	const changed = () => ({ input_tokens: tokens, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 });
	return messages.flatMap((message, index) =>
		isAnswer(message) && (message === last || (last?.id !== undefined && message.id === last.id))
			? replaceAt([index, "message", "usage"], message.usage, changed)
			: [],
	);
}

function codexUsage(document: unknown, tokens: number): ValueEdit[] {
	const payloads = listOf(document).map((record) => objectOf(objectOf(record).payload));
	const edit = (path: Place, usageIn: (payload: JsonObject) => unknown) => {
		const index = payloads.findLastIndex((payload) => isJsonObject(usageIn(payload)));
		return replaceAt([index, "payload", ...path], usageIn(payloads[index] ?? {}), (usage) => {
			const total_tokens = tokens + outputIn(usage, "output_tokens");
			return { input_tokens: tokens, cached_input_tokens: 0, total_tokens };
		});
	};
	return [
		...edit(["info", "last_token_usage"], ({ info }) => objectOf(info).last_token_usage),
		...edit(["usage"], ({ usage }) => usage),
	];
}

function piUsage(document: unknown, tokens: number): ValueEdit[] {
	const messages = listOf(document).map((record) => objectOf(objectOf(record).message));
	const index = messages.findLastIndex(
		({ role, usage, stopReason }) => role === "assistant" && isJsonObject(usage) && stopReason !== "error",
	);
	return replaceAt([index, "message", "usage"], messages[index]?.usage, (usage) => {
		return { input: tokens, cacheRead: 0, cacheWrite: 0, totalTokens: tokens + outputIn(usage) };
	});
}

function opencodeUsage(document: unknown, tokens: number): ValueEdit[] {
	const messages = listOf(objectOf(document).messages).map(objectOf);
	const index = messages.findLastIndex(({ info }) => {
		const { role, tokens: used } = objectOf(info);
		return role === "assistant" && outputIn(objectOf(used)) > 0;
	});
	const { info, parts } = messages[index] ?? {};
	const edit = (path: Place, before: unknown) =>
		replaceAt(["messages", index, ...path], before, (usage) => {
			return { input: tokens, cache: { read: 0, write: 0 }, total: tokens + outputIn(usage) };
		});
	const steps = listOf(parts).flatMap((part, place) =>
		objectOf(part).type === "step-finish" ? edit(["parts", place, "tokens"], objectOf(part).tokens) : [],
	);
	return [...edit(["info", "tokens"], objectOf(info).tokens), ...steps];
}

function geminiUsage(document: unknown, tokens: number): ValueEdit[] {
	const rewritten = listOf(document).map((record, index): [Place, readonly unknown[]] => {
		return [[index, "$set", "messages"], listOf(objectOf(objectOf(record).$set).messages)];
	});
	const own: [Place, readonly unknown[]] = Array.isArray(document)
		? [[], document]
		: [["messages"], listOf(objectOf(document).messages)];
	return [...rewritten, own].flatMap(([path, messages]) => {
		const index = messages.findLastIndex((one) => isJsonObject(objectOf(one).tokens));
		return replaceAt([...path, index, "tokens"], objectOf(messages[index]).tokens, (usage) => {
			return { input: tokens, cached: 0, total: tokens + outputIn(usage) };
		});
	});
}
