import path from "node:path";
import { isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import { nothingSet, refusedLaunch, withVersionOf } from "./base-url.ts";
import type { HookContext, ToolEvent } from "./hook-answers.ts";
import {
	type Host,
	type HostSurroundings,
	type LaunchSurroundings,
	ofUser,
	type Pointing,
	usualServer,
} from "./host.ts";

export const copilotCli: Host = {
	name: "copilot-cli",
	title: "Copilot CLI",
	server: {
		...usualServer,
		file: ofUser((where) => path.join(ownFolder(where), "mcp-config.json")),
		entry: (start) => ({ type: "local", ...usualServer.entry(start), tools: ["*"] }),
		afterwards: "Start Copilot CLI again; /mcp show lists it.",
		source: "https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers",
	},
	hook: {
		kind: "command",
		events: "a postToolUse event",
		read: readEvent,
		answer: answerToolUse,
		settings: (line, where) => {
			const folder = where.projectFolder === undefined ? ownFolder(where) : path.join(where.projectFolder, ".github");
			const own = { type: "command", bash: line, powershell: `& ${line}`, timeoutSec: 10 };
			return {
				kind: "file",
				file: path.join(folder, "hooks", "palimpsest.json"),
				text: `${JSON.stringify({ version: 1, hooks: { postToolUse: [own] } }, null, 2)}\n`,
				mark: " hook copilot-cli",
				commands: { list: ["hooks", "postToolUse"], member: "bash" },
			};
		},
	},
	launch: {
		command: "copilot",
		withoutTool: "copilot --excluded-tools NAME",
		point,
		// It cannot allow `palimpsest recall` alone (1.0.102), and `palimpsest run` runs anything.
		headless: (prompt) => ["-p", prompt, "--no-ask-user", "--allow-tool", "write"],
	},
};

/** The folder of its own settings. */
function ownFolder({ homeFolder, environment }: Pick<HostSurroundings, "homeFolder" | "environment">): string {
	return environment.COPILOT_HOME || path.join(homeFolder, ".copilot");
}

/** Copilot CLI names no event. Source: https://docs.github.com/en/copilot/reference/copilot-cli-reference/cli-hooks-reference. */
function readEvent(json: string): ToolEvent | undefined {
	const event: unknown = JSON.parse(json);
	if (!isJsonObject(event) || typeof event.toolName !== "string") return undefined;
	return { toolName: event.toolName, toolCallId: undefined, input: event.toolArgs, response: event.toolResult };
}

/** The answer of the `postToolUse` hook. A result that says no success stays, as do those with more than text. */
async function answerToolUse(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	const { response } = event;
	if (!isJsonObject(response) || response.resultType !== "success") return undefined;
	const text = response.textResultForLlm;
	if (typeof text !== "string" || !isEmpty(response.binaryResultsForLlm)) return undefined;
	if (text.length <= mostPreviewChars && preview.test(text)) return undefined;
	const shorter = await context.shorten(text, context.mostChars);
	return shorter === undefined ? undefined : { modifiedResult: { ...response, textResultForLlm: shorter } };
}

/**
 * Copilot CLI (1.0.102) saves an output that it finds too large in a file, and shows 500 characters of it and the name of the
 * file.
 */
const preview =
	/^Output too large to read at once \([^)\n]*\)\. Saved to: [^\n]*\n[^\n]*\n\nPreview \(first \d+ chars\):\n/u;
const mostPreviewChars = 4_000;

function isEmpty(list: unknown): boolean {
	return list === undefined || list === null || (Array.isArray(list) && list.length === 0);
}

/** Source: `copilot help providers`. GitHub's own models have no address that can be set. */
async function point({ environment, origin }: LaunchSurroundings): Promise<Pointing> {
	const { COPILOT_PROVIDER_BASE_URL: base, COPILOT_PROVIDER_TYPE: type } = environment;
	if (!base) {
		const reason =
			"only its own-provider mode takes an address. Set COPILOT_PROVIDER_BASE_URL and COPILOT_PROVIDER_API_KEY";
		throw refusedLaunch(copilotCli.title, reason);
	}
	return {
		...nothingSet,
		upstreams: type === "anthropic" ? { anthropic: base } : { openai: base },
		// The proxy reads requests, and no WebSocket.
		environment: { COPILOT_PROVIDER_BASE_URL: withVersionOf(base, origin), COPILOT_PROVIDER_TRANSPORT: "http" },
	};
}
