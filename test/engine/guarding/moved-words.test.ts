import { expect, it } from "vitest";
import { splitFrames } from "../../../src/engine/compaction/summary.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { row as claudeCode } from "../../formats/rows/claude-code.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { assistant, openaiMessages, system, toolTurn, user } from "../../support/script.ts";

const given = {
	locale: "en",
	guard: { ladder: ["drop"], reserve_tokens: 0 },
	compaction: { keep_user_text: true },
} as const;
const policy = policyOf(given);

const turn = (at: number) => [...toolTurn(`call_${at}`, outputOf(`file ${at}`)), user(`Word ${at}.`)];

const guard = (conversation: unknown, contextWindow: number) =>
	guardConversation({ conversation, policy, contextWindow });

type Texts = readonly { readonly role: string; readonly content: string | null }[];

const wordsIn = (conversation: unknown) =>
	(conversation as Texts).flatMap(({ content }) => framesIn(content).flatMap(({ words }) => words ?? []));

const framesIn = (content: string | null) => (content ? splitFrames(content).frames : []);

it("the words of dropped messages join the first text, and later drops add to it", async () => {
	const messages = openaiMessages(
		system("Be brief."),
		assistant("Hello."),
		user("Task."),
		[0, 1, 2, 3, 4, 5].flatMap(turn),
	);
	const first = await guard(messages, 2_000);
	expect(first.error).toBeUndefined();
	expect(first.report.fits).toBe(true);
	const once = first.conversation as Texts;
	expect(first.report.dropped_messages).toBe(messages.length - once.length);
	const words = wordsIn(once);
	expect(words.length).toBeGreaterThan(1);
	expect(words).toEqual(words.map((_, at) => `Word ${at}.`));
	expect(once[1]?.content?.startsWith("Task.\n\nWhat the user wrote")).toBe(true);
	expect(framesIn(once[1]?.content ?? "")).toMatchObject([{ summary: "", words }]);

	const second = await guard([...once, ...openaiMessages([6, 7].flatMap(turn))], 2_000);
	expect(second.report.fits).toBe(true);
	const twice = second.conversation as Texts;
	expect(wordsIn(twice).length).toBeGreaterThan(words.length);
	expect(twice.flatMap(({ content }) => framesIn(content)).length).toBe(1);
	expect((await guard(twice, 2_000)).conversation).toBe(twice);
});

it("in a session file, the words and the records after them link to records that stay", async () => {
	const script = [user("Task."), ...[0, 1, 2, 3, 4, 5].flatMap((at) => [...turn(at), ...toolTurn(`more_${at}`, "ok")])];
	const { conversation, report } = await guard(claudeCode.write(script), 2_000);
	expect(report.fits).toBe(true);
	const records = conversation as readonly { readonly uuid?: string; readonly parentUuid?: string | null }[];
	const ids = new Set(records.map(({ uuid }) => uuid));
	expect(ids.size).toBeGreaterThan(5);
	expect(JSON.stringify(records)).toContain("What the user wrote, word for word");
	expect(records.filter(({ parentUuid }) => parentUuid != null && !ids.has(parentUuid))).toEqual([]);
});

it("with a target, the conversation and the words together come down to it, and no further than they have to", async () => {
	const long = (at: number) => [...toolTurn(`call_${at}`, outputOf(`file ${at}`)), user(`Word ${at}. `.repeat(120))];
	const messages = openaiMessages(user("Task."), [0, 1, 2, 3, 4, 5, 6, 7].flatMap(long), user("Last. ".repeat(600)));
	const before = (await guard(messages, 100_000)).report.tokens.before;
	for (const ratio of [0.75, 0.8, 0.85, 0.9]) {
		const withTarget = policyOf({ ...given, guard: { ...given.guard, target_ratio: ratio } });
		const outcome = await guardConversation({
			conversation: messages,
			policy: withTarget,
			contextWindow: before - 1,
		});
		expect(outcome.report.tokens.after).toBeLessThanOrEqual(ratio * (before - 1));
		expect(wordsIn(outcome.conversation).length).toBeGreaterThan(0);
		expect((outcome.conversation as Texts).filter(({ role }) => role === "tool").length).toBeGreaterThan(1);
	}
});

it("words of earlier drops that come first, and so are pinned as the task, are joined with later ones", async () => {
	const unpinned = policyOf({ ...given, guard: { ...given.guard, pin_task: false } });
	const messages = openaiMessages(user("Task."), [0, 1, 2, 3, 4, 5].flatMap(turn));
	const first = await guardConversation({ conversation: messages, policy: unpinned, contextWindow: 1_500 });
	const once = first.conversation as Texts;
	expect(framesIn(once[0]?.content ?? null)[0]?.words?.[0]).toBe("Task.");
	const second = await guard([...once, ...openaiMessages([6, 7, 8].flatMap(turn))], 1_500);
	const twice = second.conversation as Texts;
	expect(twice.flatMap(({ content }) => framesIn(content)).length).toBe(1);
	expect(wordsIn(twice).slice(0, 2)).toEqual(["Task.", "Word 0."]);
	expect(wordsIn(twice).length).toBeGreaterThan(wordsIn(once).length);
});

it("a conversation in which only words could go stays unchanged", async () => {
	const messages = openaiMessages(user("Task."), user("One."), user("Two."));
	const outcome = await guard(messages, 8);
	expect(outcome.error).toBeUndefined();
	expect(outcome.conversation).toBe(messages);
	expect(outcome.report.fits).toBe(false);
});

it("words are cut only if the steps after dropping do not make enough room", async () => {
	const words = "I want every line of this file checked with care. ".repeat(60);
	const messages = openaiMessages(user("Task."), toolTurn("a", "ok"), user(words), toolTurn("b", outputOf("file", 80)));
	const reportFor = async (ladder: ("drop" | "truncate")[], contextWindow: number) => {
		const limits = { max_tool_result_chars: 300, truncate_head_chars: 100, truncate_tail_chars: 100 };
		const compaction = { ...given.compaction, keep_user_tokens: 100 };
		const layer = { ...given, compaction, guard: { ...given.guard, ...limits, keep_last_messages: 2, ladder } };
		const { conversation, report } = await guardConversation({
			conversation: messages,
			policy: policyOf(layer),
			contextWindow,
		});
		expect(report).toMatchObject({ fits: true, dropped_messages: 3 });
		return { areWhole: wordsIn(conversation)[0] === words.trim(), steps: report.steps.map(({ step }) => step) };
	};
	expect(await reportFor(["drop"], 1_400)).toEqual({ areWhole: false, steps: ["drop"] });
	expect(await reportFor(["drop", "truncate"], 1_400)).toEqual({ areWhole: true, steps: ["drop", "truncate"] });
	expect(await reportFor(["drop", "truncate"], 400)).toEqual({ areWhole: false, steps: ["drop", "truncate"] });
});
