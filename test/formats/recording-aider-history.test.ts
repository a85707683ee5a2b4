import { describe, expect, it } from "vitest";
import { readRecording } from "../../src/formats/recording.ts";

const history = `
# aider chat started at 2026-01-02 03:04:05

> Aider v0.86.0
> Main model: m with diff edit format

#### Rename it.  
#### Then test it.

Here is the change:

\`\`\`
a.py
\`\`\`

> Applied edit to a.py
> Commit 1234567 feat: rename

# aider chat started at 2026-01-03 03:04:05

#### /run pytest

> 2 passed
> Add command output to the chat?

#### Good?

Yes.
`;

describe("Aider's chat history", () => {
	it("has the words of user and model, over all chats of the file", () => {
		const messages = [
			{ role: "user", content: "Rename it.  \nThen test it." },
			{ role: "assistant", content: "\nHere is the change:\n\n```\na.py\n```\n" },
			{ role: "user", content: "/run pytest" },
			{ role: "user", content: "Good?" },
			{ role: "assistant", content: "\nYes.\n" },
		];
		const expected = { kind: "Aider chat history", conversation: { messages } };
		expect(readRecording(history)).toEqual(expected);
		expect(readRecording(history.replaceAll("\n", "\r\n"))).toEqual(expected);
	});

	it("does not include other Markdown", () => {
		expect(readRecording("# Notes\n\n#### Go.\n")).toBeUndefined();
		expect(readRecording(`Intro.\n${history}`)).toBeUndefined();
		expect(readRecording("# aider chat started at 2026-01-02 03:04:05\n")).toEqual({
			kind: "Aider chat history",
			conversation: { messages: [] },
		});
	});
});
