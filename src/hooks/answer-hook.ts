import { answerClaudeCode } from "./claude-code.ts";
import { answerGeminiCli } from "./gemini-cli.ts";
import { type HookContext, isOwnResult, type JsonObject, readToolEvent, type ToolEvent } from "./tool-event.ts";

/** The hosts whose hooks are commands. */
export const hookHosts = ["claude-code", "gemini-cli"] as const;
export type HookHost = (typeof hookHosts)[number];

/** An event of a host. */
export interface HookRequest {
	readonly host: HookHost;
	/** As it came on standard input. */
	readonly json: string;
	/** What shortens the result of this event's call. */
	readonly contextOf: (event: ToolEvent) => HookContext;
}

/**
 * What a host's hook answers to an event; `undefined` where the result stays as it is.
 *
 * @throws what reading the event or shortening its result throws; the result then has to stay.
 */
export async function answerHook({ host, json, contextOf }: HookRequest): Promise<JsonObject | undefined> {
	const { eventName, answer } = hosts[host];
	const event = readToolEvent(json, eventName);
	return event === undefined || isOwnResult(event) ? undefined : answer(event, contextOf(event));
}

type Answer = (event: ToolEvent, context: HookContext) => Promise<JsonObject | undefined>;

const hosts: Readonly<Record<HookHost, { readonly eventName: string; readonly answer: Answer }>> = {
	"claude-code": { eventName: "PostToolUse", answer: answerClaudeCode },
	"gemini-cli": { eventName: "AfterTool", answer: answerGeminiCli },
};
