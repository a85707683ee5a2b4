import { type Figure, modelName } from "../storage/figures/line.ts";
import type { HeadTool } from "./billing/request-head.ts";
import type { BreakRecord } from "./break-record.ts";
import type { RequestFacts } from "./sending/facts.ts";

/** What the figures have of the tools of a conversation. */
export interface ToolRecord {
	offered: readonly HeadTool[] | undefined;
	readonly called: Set<string>;
}

export const newToolRecord = (): ToolRecord => ({ offered: undefined, called: new Set() });

/** The end of a conversation's name: it tells apart the conversations of a person. */
export const sessionName = (conversation: string): string => conversation.slice(-12);

/**
 * The tools of a conversation for the figures, where something of them is new: so `palimpsest report` can name those that are never
 * called. `undefined` before the first tool turn, and without a usage.
 */
export function toolsOf(
	{
		breaks,
		tools,
		agent,
	}: { readonly breaks: BreakRecord; readonly tools: ToolRecord; readonly agent: string | undefined },
	{ conversation, prompt }: RequestFacts,
): Figure | undefined {
	const head = typeof breaks.seen === "object" ? breaks.seen.head.tools : undefined;
	if (conversation === undefined || !head) return undefined;
	const called = [...prompt.called()].filter((name) => !tools.called.has(name));
	const isSame = head === tools.offered;
	if (isSame && called.length === 0) return undefined;
	tools.offered = head;
	for (const name of called) tools.called.add(name);
	const offered = isSame ? undefined : tokensByName(head, prompt.tokensPerToolChar());
	return { kind: "tools", session: sessionName(conversation), agent, offered, called: called.map(modelName) };
}

function tokensByName(tools: readonly HeadTool[], tokensPerChar: number): Readonly<Record<string, number>> {
	const own = tools.flatMap(({ name, chars }) =>
		chars === undefined ? [] : [[modelName(name), Math.round(chars * tokensPerChar)] as const],
	);
	return Object.fromEntries(own);
}
