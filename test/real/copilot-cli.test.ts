import { describeRealSessions } from "./session-checks.ts";

describeRealSessions("copilot-cli", (_, told, records) => {
	const count = (type: string) => records.filter((record) => record.type === type).length;
	// The index counts the same system prompt anew for each turn, and no notification of the system.
	return { messages: told.messages - (count("system.message") - 1) + count("system.notification") };
});
