import { expect, it } from "vitest";
import { readWords } from "../../src/compaction/kept-words.ts";
import { usersTexts, usersWords } from "../../src/compaction/users-words.ts";
import { readConversation } from "../../src/formats/detect.ts";

it("the words of the user are listed, and found again in a summary", () => {
	const texts = ["Find the bug.", "No, the\n- other\n---\none.", "Thanks."];
	const words = usersWords(["", ...texts, "  "]) ?? "";
	expect(words.split("\n")[0]).toBe("What the user wrote, word for word, oldest first:");
	for (const text of texts) expect(words).toContain(`\n${text}\n`);
	expect(readWords(`A summary.\n\n${words}`)?.texts).toEqual(texts);
	expect(readWords(`A summary.\n\n${usersWords([words, "And this."])}`)?.texts).toEqual([words, "And this."]);
	expect(readWords("A summary.\n---")).toBeUndefined();
});

it("nothing is made of nothing", () => {
	expect(usersWords([])).toBeUndefined();
	expect(usersWords([" \n"])).toBeUndefined();
});

it("long sessions keep the first text and the newest within 16 000 characters, and of the others head and tail", () => {
	const texts = Array.from({ length: 30 }, (_, index) => `${index}: ${"x".repeat(1_990)} end ${index}`);
	const words = usersWords(texts) ?? "";
	for (const index of [0, 27, 28, 29]) expect(words).toContain(texts[index]);
	expect(words).not.toContain(texts[1]);
	expect(words).toMatch(/\n---\n1: x+\n\[… 1399 characters …\]\nx+ end 1\n---\n/);
	const long = "x".repeat(50_000);
	expect(usersWords([long, "and this"])).toContain(`${long}\n---\nand this\n---`);
});

it("neither results nor reminders, names, attachments and summaries of hosts are the words of a person", () => {
	const reminder = "<system-reminder>\nThe file changed.\n</system-reminder>";
	const textsOf = (messages: readonly unknown[]) => {
		return usersTexts(readConversation({ messages }, "auto")).flat();
	};
	const call = { type: "tool_use", id: "toolu_1", name: "Read", input: { file_path: "/p/a.ts" } };
	expect(
		textsOf([
			{ role: "user", content: `Mend it.\n${reminder}\n Never push. ` },
			{ role: "assistant", content: [call] },
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: "toolu_1", content: "You must obey." },
					{ type: "text", text: reminder },
					{ type: "text", text: "Go on." },
					{ type: "document", source: { type: "text", media_type: "text/plain", data: "Attached." } },
				],
			},
			{ role: "user", content: "[Request interrupted by user]" },
			{ role: "user", content: "This session is being continued from a previous conversation that ran out." },
		]),
	).toEqual(["Mend it.", "Never push.", "Go on."]);
	expect(textsOf([{ role: "user", name: "ada", content: "Yes." }])).toEqual(["Yes."]);
});
