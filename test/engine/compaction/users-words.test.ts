import { describe, expect, it } from "vitest";
import { readWords } from "../../../src/engine/compaction/kept-words.ts";
import { frameSummary } from "../../../src/engine/compaction/summary.ts";
import { ownWords, usersTexts, usersWords } from "../../../src/engine/compaction/users-words.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

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

it("the summary of another program keeps texts whole up to 4 000 tokens of four characters", () => {
	const texts = (length: number) => ["Task.", "x".repeat(length), "a", "b", "c"];
	const least = texts(0).join("").length;
	expect(usersWords(texts(16_000 - least))).toContain(texts(16_000 - least)[1]);
	expect(usersWords(texts(16_001 - least))).not.toContain(texts(16_001 - least)[1]);
});

describe("text that hosts add to a person's message", () => {
	it.each([
		"system-reminder",
		"current_datetime",
		"environment_context",
		"session_context",
		"environment_details",
		"environment_info",
		"user_instructions",
		"local-command-stdout",
		"local-command-stderr",
		"local-command-caveat",
		"command-name",
		"command-message",
		"bash-stdout",
		"bash-stderr",
		"task-notification",
		"turn_aborted",
		"ide_opened_file",
		"ide_selection",
		"ide_diagnostics",
		"file_content",
		"attachment",
		"attachments",
		"editorContext",
		"reminderInstructions",
		"workspace_info",
	])("in <%s> is removed", (tag) => {
		const block = `<${tag}>\nobey\n</${tag}>`;
		expect(ownWords(`  Mend it. ${block}\n Go on. `)).toEqual(["Mend it.", "Go on."]);
		expect(ownWords(block)).toEqual([]);
		expect(ownWords(`<${tag} path="a.ts">obey</${tag}>Go on.`)).toEqual(["Go on."]);
		expect(ownWords(`<${tag}s-x>kept</${tag}s-x>`)).toEqual([`<${tag}s-x>kept</${tag}s-x>`]);
	});

	it.each([
		["<system-reminder>kept", ["<system-reminder>kept"]],
		["<system-reminder>kept <bash-stdout>x</bash-stdout> too", ["<system-reminder>kept", "too"]],
		["a<bash-stdout>x<bash-stderr>y</bash-stderr>z</bash-stdout>b", ["a", "b"]],
		["a<bash-stdout></bash-stdout><bash-stderr></bash-stderr>b", ["a", "b"]],
		["a<bash-stdout>x</bash-stdout>b<bash-stdout>y</bash-stdout>c<bash-stdout>d", ["a", "b", "c<bash-stdout>d"]],
		["<system-reminder <x>>kept</system-reminder>", ["<system-reminder <x>>kept</system-reminder>"]],
		["see <b>this</b>", ["see <b>this</b>"]],
	])("is removed: %j stays %j", (text, words) => {
		expect(ownWords(text)).toEqual(words);
	});

	it.each([
		"[Request interrupted by user]",
		"\n [Request interrupted by user for tool use]\n \n",
		"This session is being continued from a previous conversation that ran out of context.",
		"Caveat: The messages below were generated by the user while running local commands. Do not answer.",
		"# AGENTS.md instructions for /home/me\n\nobey",
		"[read_file for 'a.ts'] Result:",
		"  [ask] Result: \n",
	])("is not a text of a person: %j", (text) => {
		expect(ownWords(text)).toEqual([]);
	});

	it.each([
		"[Request interrupted by user] Go on.",
		"[Request interrupted by\nuser]",
		"[Request interrupted by user for\ntool use]",
		"See: This session is being continued from a previous conversation",
		"Why [Request interrupted by user]",
		"[read_file for 'a.ts'] Result: 3",
		"[read_file\nfor] Result:",
		"[Read] Result:",
		"[1] Result:",
	])("is the text of a person: %j", (text) => {
		expect(ownWords(text)).toEqual([text]);
	});
});

describe("by message, the words of a person", () => {
	const textsOf = (messages: readonly unknown[]) => usersTexts(readConversation({ messages }, "auto"));

	it("come from users alone, and for a summary from the text below it", () => {
		const framed = frameSummary({ summary: "They said hello.", locale: "en", words: ["Task.", "Never push."] });
		const bare = frameSummary({ summary: "They said hello.", locale: "fr" });
		expect(
			textsOf([
				{ role: "system", content: "Be brief." },
				{ role: "user", content: framed },
				{ role: "assistant", content: "Yes." },
				{ role: "user", content: bare },
				{
					role: "user",
					content: [
						{ type: "text", text: "One." },
						{ type: "text", text: "Two." },
					],
				},
				{ role: "user", content: "" },
			]),
		).toEqual([[], ["Task.", "Never push."], [], [], ["One.", "Two."], []]);
	});

	it.each(["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"])("are not in records that are %s", (mark) => {
		const record = (content: string, fields: object) => ({
			type: "user",
			uuid: content,
			parentUuid: content === "Mine." ? "Marked." : null,
			sessionId: "s",
			message: { role: "user", content },
			...fields,
		});
		const records = [record("Marked.", { [mark]: true }), record("Mine.", { [mark]: false })];
		expect(usersTexts(readConversation(records, "auto")).flat()).toEqual(["Mine."]);
	});

	it.each(["synthetic", "ignored"])("are not in parts that are %s", (mark) => {
		const part = (text: string, fields: object) => ({ type: "text", text, ...fields });
		const content = [part("Mine.", {}), part("Marked.", { [mark]: true }), part("Mine too.", { [mark]: "no" })];
		expect(textsOf([{ role: "user", content }]).flat()).toEqual(["Mine.", "Mine too."]);
	});

	it("are not the names and arguments of calls that a simulated user makes", () => {
		const call = { id: "c", type: "function", function: { name: "toggle", arguments: '"on"' } };
		const messages = [
			{ role: "user", content: "Wait.", tool_calls: [call] },
			{ role: "tool", tool_call_id: "c", content: "done" },
		];
		expect(textsOf(messages)).toEqual([["Wait."], []]);
	});

	it.each([
		["feedback", true],
		["user_message", true],
		["answer", true],
		["task", true],
		["note", false],
	])("are the text after an observation, if it is in <%s>: %s", (tag, isWords) => {
		const after = `\n<${tag}>\nUse tabs.\n</${tag}>`;
		const framed = { path: [0, "content"], text: "output", frame: { before: "Result:\n", after } };
		const results = [{ ...resultOf("a"), texts: [framed] }, resultOf("b", "other output")];
		const message = messageOf({ role: "user", counted: ["Result:\n", after], results });
		const document = [{ content: `Result:\noutput${after}` }];
		expect(usersTexts({ document, transcript: transcriptOf(message) })).toEqual([isWords ? [after.trim()] : []]);
	});

	it("are the strings of its values at any depth, but for names and sources", () => {
		const counted = ["one", "two", "three", "Ada", "attached", "JSON of a part"];
		const value = {
			content: [{ deep: [["one"], { text: "two" }] }, null, 3, { source: { data: "attached" } }, { name: "Ada" }],
		};
		const message = { ...messageOf({ role: "user", counted }), paths: [[0], [1]] };
		const transcript = { ...transcriptOf(), messages: [message] };
		expect(usersTexts({ document: [value, "three"], transcript })).toEqual([["one", "two", "three"]]);
		expect(
			usersTexts({
				document: [value, "three"],
				transcript: { ...transcript, messages: [{ ...message, sent: false }] },
			}),
		).toEqual([[]]);
		expect(
			usersTexts({ document: [value], transcript: { ...transcript, messages: [{ ...message, role: "tool" }] } }),
		).toEqual([[]]);
	});
});
