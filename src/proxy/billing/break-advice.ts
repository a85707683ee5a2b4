import type { BreakCause } from "./cache-break.ts";

/** One line that says what can be done against breaks of a cause; `undefined` where nothing can, or we decided it. */
export function adviceOn({
	cause,
	server,
	times,
	isRecorded = false,
}: {
	readonly cause: BreakCause | (string & {});
	/** An MCP server whose tools changed. */
	readonly server?: string | undefined;
	/** How often they did. */
	readonly times?: number | undefined;
	/** Whether it is known from a session file alone, which does not show what a proxy has sent. */
	readonly isRecorded?: boolean | undefined;
}): string | undefined {
	if (cause === "tools" && server !== undefined) return adviceOnServer(server, times ?? 1);
	if (cause === "earlier_message" && isRecorded)
		return "Earlier messages were sent shorter than they are recorded: a proxy (such as `palimpsest launch`) masked them, or the program trimmed its history.";
	return advices.get(cause);
}

function adviceOnServer(server: string, times: number): string {
	if (times < 2)
		return `The tools of your MCP server ${server} came, went or changed: connect it before a conversation starts.`;
	return `Your MCP server ${server} keeps changing its tool list (${times} times): fix its version, or switch it off where you can.`;
}

const advices = new Map<string, string>(
	Object.entries({
		pause:
			"Continue before the cache expires; `palimpsest proxy --keep-warm` keeps Anthropic's cache through short pauses.",
		model: "Change the model at the start of a conversation, or ask the other model in a subagent.",
		tools: "Choose tools and modes before a conversation starts: each change makes the provider write all of it again.",
		system: "Keep the time, the date and whatever else changes out of the system prompt.",
		prompt_start: "Change tools and settings before a conversation starts, and keep the time out of the system prompt.",
		effort:
			"Set the effort, the thinking and the format of answers at the start of a conversation; for Claude, send the first image then too.",
		earlier_message: "Your program rewrites its own history: look for its setting that clears or trims old results.",
	}),
);
