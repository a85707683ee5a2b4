import { describe, expect, it } from "vitest";
import { notesOn } from "../../../src/engine/conversation/report.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const searched = (id: string, type: string) => ({
	role: "assistant",
	content: [
		{ type: "server_tool_use", id, name: "web_search", input: {} },
		{ type, tool_use_id: id, content: [] },
	],
});

describe("notes on results of tools that the provider runs", () => {
	it("name them by their kind", () => {
		const messages = [
			{ role: "user", content: "Go." },
			searched("a", "web_search_tool_result"),
			searched("b", "web_search_tool_result"),
			searched("c", "code_execution_tool_result"),
			searched("d", "words of the conversation_tool_result"),
		];
		const [note] = notesOn(transcriptFrom(messages));
		expect(note).toContain("web_search (2), code_execution (1), others (1).");
		expect(note).not.toContain("words");
	});
});
