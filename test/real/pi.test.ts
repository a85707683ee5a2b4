import { describeRealSessions } from "./session-checks.ts";

describeRealSessions(
	"pi",
	(file) =>
		// Its last record is a compaction that kept nothing: of all before it, only the summary is sent.
		file === "pi-mono-sessions/002.json" ? { messages: 0, tool_turns: 0, calls: 0, results: 0 } : {},
	({ type }) => type === "compaction",
);
