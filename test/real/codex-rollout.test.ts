import { describeRealSessions } from "./session-checks.ts";

/** Searches of the web run at the provider: the index counts them as calls, and as turns where they stand alone. */
const searches: Readonly<Record<string, number>> = {
	"agentv-codex-copilot/004.json": 1,
	"agentv-codex-copilot/008.json": 0,
	"agentv-codex-copilot/012.json": 4,
};

describeRealSessions("codex-rollout", (file, told, records) => ({
	// The index counts the items that are messages; here all items count, calls and reasoning too.
	messages: records.filter(({ type }) => type === "response_item").length,
	calls: told.calls - (searches[file] ?? 0),
	tool_turns: told.tool_turns - (searches[file] ?? 0),
}));
