import { parseArgs } from "node:util";
import { hookHosts } from "../hooks/answer-hook.ts";
import { type HookName, type HookOptions, hook } from "./hook.ts";

/**
 * Answers where the command line is the call of a hook; `false` where it is anything else. A host waits for its hooks with
 * every tool call, so that they are told apart before anything else is loaded; and it takes whatever its settings say: an
 * error of usage would be shown to the model.
 */
export async function answerHookCall(parameters: readonly string[]): Promise<boolean> {
	const [command, name, ...rest] = parameters;
	if (command !== "hook" || !isHook(name) || rest.includes("--help") || rest.includes("-h")) return false;
	await hook(name, optionsIn(rest));
	return true;
}

function optionsIn(args: string[]): HookOptions {
	const text = { type: "string" } as const;
	const ofAll = { "max-chars": text, policy: text, archive: text, namespace: text, locale: text };
	const options = { ...ofAll, host: text, "saved-in": text };
	const parsed = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
	const unknown = parsed.tokens.find((token) => token.kind !== "option" || !Object.hasOwn(options, token.name));
	return { ...parsed.values, ...(unknown && { unknown: unknown.kind === "option" ? unknown.rawName : "an argument" }) };
}

function isHook(name: string | undefined): name is HookName {
	return name === "shorten" || hookHosts.some((host) => host === name);
}
