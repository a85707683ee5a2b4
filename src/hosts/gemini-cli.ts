import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { ValueEdit } from "../formats/json-text/edit.ts";
import { listOf, objectOf, stringAt } from "../formats/json-text/value.ts";
import { isOn, nothingSet, providers, refusedLaunch, textAt } from "./base-url.ts";
import { type HookContext, readToolEvent, type ToolEvent } from "./hook-answers.ts";
import { type Host, inBoth, type LaunchSurroundings, type Pointing, usualServer } from "./host.ts";
import { lastText, outputIn, type Place, replaceUsage } from "./session-usage.ts";
import { projectEnvFile, settingsIn, textIn } from "./settings-file.ts";

export const geminiCli: Host = {
	name: "gemini-cli",
	title: "Gemini CLI",
	server: {
		...usualServer,
		file: inBoth(".gemini", "settings.json"),
		afterwards: "Start Gemini CLI again; /mcp shows it.",
		source: "https://geminicli.com/docs/tools/mcp-server",
		projectVariable: "GEMINI_PROJECT_DIR",
	},
	hook: {
		kind: "command",
		events: "an AfterTool event",
		read: (json) => readToolEvent(json, "AfterTool"),
		answer: answerAfterTool,
		// Without an answer, it takes standard error for one.
		noAnswer: "{}\n",
		// Source: https://geminicli.com/docs/hooks/reference#configuration-schema.
		settings: (line, { homeFolder, projectFolder = homeFolder }) => {
			const matcher = "run_shell_command|grep_search|search_file_content|web_fetch|mcp_.*";
			const hook = { name: "palimpsest", type: "command", command: line, timeout: 10_000 };
			const file = path.join(projectFolder, ".gemini", "settings.json");
			return { kind: "entries", file, entries: [{ event: "AfterTool", matcher, hook }] };
		},
	},
	ownPlugin: {
		// Source: https://geminicli.com/docs/extensions/reference.
		file: ({ homeFolder }) => path.join(homeFolder, ".gemini", "extensions", "palimpsest", "gemini-extension.json"),
		isOn: ({ name }) => name === "palimpsest",
		brings: ["server", "hook"],
		removedBy: "gemini extensions uninstall palimpsest",
	},
	launch: {
		command: "gemini",
		withoutTool: '"tools": { "exclude": ["NAME"] } in settings.json',
		point,
		// In a folder that is not trusted, it would not take the mode.
		headless: (prompt) => [
			...["--prompt", prompt, "--approval-mode", "auto_edit", "--skip-trust"],
			...["--allowed-tools", "run_shell_command(palimpsest recall)"],
		],
	},
	session: {
		format: "gemini-cli",
		sessionId: (document) =>
			Array.isArray(document) ? lastText(document, "sessionId") : stringAt(objectOf(document), "sessionId"),
		folder: (_, file) => readText(path.join(path.dirname(path.dirname(file)), ".project_root")),
		// Gemini CLI finds a session by the first eight characters of its id.
		name: ({ id, name, now }) =>
			`session-${now.toISOString().slice(0, 16).replaceAll(":", "-")}-${id.slice(0, 8)}${/\.jsonl?$/.exec(name)?.[0] ?? ".jsonl"}`,
		command: ({ id }) => `gemini --resume ${id}`,
		usage,
	},
};

/**
 * Up to Gemini CLI 0.61, a hook can only replace a result by denying it, and the model sees the reason as an error:
 * the text says that it is none. Source: https://geminicli.com/docs/hooks/reference#aftertool.
 */
async function answerAfterTool(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	if (!isJsonObject(event.response)) return undefined;
	const { llmContent, error } = event.response;
	const text = shownText(llmContent);
	const { mostChars, shorten, wordings } = context;
	if (text === undefined || (error !== undefined && error !== null) || text.length <= mostChars) return undefined;
	const { noError } = await wordings();
	const shorter = await shorten(text, Math.max(0, mostChars - noError.length - 1));
	return shorter === undefined ? undefined : { decision: "deny", reason: `${noError}\n${shorter}` };
}

function shownText(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (Array.isArray(content)) {
		const texts = content.map(shownText);
		return texts.every((text) => text !== undefined) ? texts.join("") : undefined;
	}
	return isJsonObject(content) && typeof content.text === "string" ? content.text : undefined;
}

/** Source: https://github.com/google-gemini/gemini-cli, `createContentGenerator` and `validateAuthMethod`. */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { projectFolder = ".", origin } = where;
	const home = where.environment.GEMINI_CLI_HOME || where.homeFolder;
	const environment = await variablesOf({ ...where, homeFolder: home });
	const files = [home, projectFolder].map((at) => path.join(at, ".gemini", "settings.json"));
	const settings = await Promise.all(files.map(settingsIn));
	const chosen = settings.map((one) => textAt(one, ["security", "auth", "selectedType"]));
	const signIn =
		chosen.findLast((type) => type !== undefined) ??
		(isOn(environment.GOOGLE_GENAI_USE_GCA) ? "oauth-personal" : undefined) ??
		(isOn(environment.GOOGLE_GENAI_USE_VERTEXAI) ? "vertex-ai" : undefined) ??
		(environment.GOOGLE_GEMINI_BASE_URL ? "gateway" : undefined);
	if (signIn === undefined) {
		// With an address and no choice it takes the sign-in `gateway`, which it then refuses itself.
		const reason =
			'it takes another address only where a sign-in is chosen. Choose a Gemini API key (/auth, or "security": {"auth": {"selectedType": "gemini-api-key"}} in ~/.gemini/settings.json)';
		throw refusedLaunch(geminiCli.title, reason);
	}
	if (signIn === "oauth-personal" || signIn === "compute-default-credentials") {
		// Source: `CodeAssistServer` of Gemini CLI 0.61.
		const upstream = environment.CODE_ASSIST_ENDPOINT || "https://cloudcode-pa.googleapis.com";
		return { ...nothingSet, upstreams: { gemini: upstream }, environment: { CODE_ASSIST_ENDPOINT: origin } };
	}
	if (signIn !== "gemini-api-key" && signIn !== "gateway") {
		const reason = `its sign-in is ${signIn}, which takes no other address. Choose a Gemini API key or a Google sign-in (/auth)`;
		throw refusedLaunch(geminiCli.title, reason);
	}
	return {
		...nothingSet,
		upstreams: { gemini: environment.GOOGLE_GEMINI_BASE_URL || providers.gemini },
		environment: { GOOGLE_GEMINI_BASE_URL: origin },
	};
}

const addressVariables = ["GOOGLE_GEMINI_BASE_URL", "CODE_ASSIST_ENDPOINT"];

/** The shell's variables win over the first `.env` on the way up, or else the user's own. Source: `loadEnvironment`. */
async function variablesOf(where: LaunchSurroundings): Promise<LaunchSurroundings["environment"]> {
	const { homeFolder, environment } = where;
	const ofProject = await projectEnvFile(where, ".gemini");
	const ofUser = [path.join(homeFolder, ".gemini", ".env"), path.join(homeFolder, ".env")];
	for (const file of ofProject === undefined ? ofUser : [ofProject]) {
		const text = await textIn(file);
		if (text === undefined) continue;
		const set = parseEnv(text);
		const name = addressVariables.find((one) => set[one] && environment[one] === undefined);
		if (name === undefined || ofProject === undefined) return { ...set, ...environment };
		// Whether it trusts the folder is not known here, and a foreign folder must not choose who gets the key.
		const reason = `${file} names ${name}, which counts only in a folder that it trusts. Set ${name} in the environment`;
		throw refusedLaunch(geminiCli.title, reason);
	}
	return environment;
}

function readText(file: string): string | undefined {
	try {
		return readFileSync(file, "utf8").trim();
	} catch {
		return undefined;
	}
}

function usage(document: unknown, tokens: number): ValueEdit[] {
	const rewritten = listOf(document).map((record, index): [Place, readonly unknown[]] => {
		return [[index, "$set", "messages"], listOf(objectOf(objectOf(record).$set).messages)];
	});
	const own: [Place, readonly unknown[]] = Array.isArray(document)
		? [[], document]
		: [["messages"], listOf(objectOf(document).messages)];
	return [...rewritten, own].flatMap(([path, messages]) => {
		const index = messages.findLastIndex((one) => isJsonObject(objectOf(one).tokens));
		return replaceUsage([...path, index, "tokens"], objectOf(messages[index]).tokens, (usage) => {
			return { input: tokens, cached: 0, total: tokens + outputIn(usage) };
		});
	});
}
