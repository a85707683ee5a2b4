import { describeRealSessions } from "./session-checks.ts";

describeRealSessions("openai-responses", (_, told, records) => {
	// Searches of tools by the provider came with the answer: the index counts them as calls and results.
	const searched = (type: string) => records.filter((item) => item.type === type && item.execution === "server").length;
	return {
		// The index counts the items that are messages; here all items count, calls and reasoning too.
		messages: records.length,
		calls: told.calls - searched("tool_search_call"),
		results: told.results - searched("tool_search_output"),
		// Its output ends a turn for the index; here it stands in the answer, as the function calls behind it do.
		tool_turns: told.tool_turns - searched("tool_search_output"),
	};
});
