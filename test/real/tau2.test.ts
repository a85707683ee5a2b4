import { describeRealSessions } from "./session-checks.ts";

describeRealSessions("tau2", (_, told, messages) => {
	// The index counts messages of the user's side that call tools as tool turns too.
	const byUser = messages.filter(({ role, tool_calls: calls }) => role === "user" && Array.isArray(calls));
	return { tool_turns: told.tool_turns - byUser.length };
});
