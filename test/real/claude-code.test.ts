import { describeRealSessions } from "./session-checks.ts";

describeRealSessions("claude-code", (file, { messages }) =>
	// Five records of a prompt that was interrupted and taken back are on no way to the last record.
	file === "entire-cli-claude-code/012.json" ? { messages: messages - 5 } : {},
);
