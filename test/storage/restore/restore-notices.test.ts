import { beforeEach, describe, expect, it } from "vitest";
import { locales } from "../../../src/engine/policy/wordings.ts";
import { noticeFinder } from "../../../src/engine/truncation/head-tail.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { resultContents } from "../../support/raw-conversation.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

const policy = policyOf({ preset: "balanced", guard: { max_tool_result_chars: 2_000 } });

const lines = Array.from({ length: 300 }, (_, index) => `value${index} is one of many lines`).join("\n");

const guard = (conversation: unknown) => guardConversation({ conversation, policy, archive, contextWindow: 1_000_000 });

const restore = (conversation: unknown) => restoreConversation({ conversation, archive, policy });

describe("a result cut by a strategy", () => {
	it("is restored by the reference in its notice: text, JSON, HTML, with or without colours", async () => {
		const json = JSON.stringify(
			Array.from({ length: 300 }, (_, id) => ({ id, name: `row ${id}` })),
			null,
			2,
		);
		const html = `<!doctype html><html><body>${"<p>words of a page</p>\n".repeat(300)}</body></html>`;
		const coloured = lines.replace(/value\d+/g, "\u001b[31m$&\u001b[0m");
		const whole = openaiMessages(
			user("Go."),
			...[lines, json, html, coloured].map((content, index) => toolTurn(`call_${index}`, content)),
		);
		const { conversation, report } = await guard(whole);
		expect(report.truncated_tool_results).toBe(4);
		const back = await restore(conversation);
		expect(back.report).toMatchObject({ restored: 4, missing: [] });
		expect(back.conversation).toEqual(whole);
	});

	it("is distinguished from a result that quotes it", async () => {
		const { conversation } = await guard(openaiMessages(user("Go."), toolTurn("a", lines)));
		const [cut = ""] = resultContents(conversation) as string[];
		expect(cut).toMatch(/^\[Output shortened: .*, ref=\w+\]\n/);
		const quoting = openaiMessages(user("Go."), toolTurn("a", cut), toolTurn("b", `The notice:\n${cut}`));
		const back = await restore(quoting);
		expect(resultContents(back.conversation)).toEqual([lines, `The notice:\n${cut}`]);
	});

	it("is reported when its original is missing", async () => {
		const { conversation, edits } = await guard(openaiMessages(user("Go."), toolTurn("a", lines)));
		archive = (await openArchive({ where: "memory" })) as Archive;
		const back = await restore(conversation);
		expect(back.report).toMatchObject({ restored: 0, missing: [edits[0]?.ref] });
	});
});

it("finds notices by their exact grammar", () => {
	const { notices } = locales.en.archived;
	const find = noticeFinder([notices.notice, notices.whole, notices.html]);
	const notice = "[Output shortened: 7 of 9 lines left out (70 of 90 characters), ref=abc123]";
	expect(
		find(`before\n${notice} behind\n{"_truncated":"[HTML as text; the original has 5 characters, ref=x]"}`),
	).toEqual([
		{ ref: "abc123", totalChars: 90, isAtTop: false },
		{ ref: "x", totalChars: 5, isAtTop: false },
	]);
	expect(find(`${notice}\nx`)).toMatchObject([{ isAtTop: true }]);
	expect(find(`[{"_truncated":"${notice}"},1]`)).toMatchObject([{ isAtTop: true }]);
	for (const other of ["", "ref=abc", notice.replace("7 of", "seven of"), notice.replace("]", "")]) {
		expect(find(other)).toEqual([]);
	}
});
