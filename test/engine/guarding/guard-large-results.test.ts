import { describe, expect, it } from "vitest";
import { guardConversation } from "../../../src/operations/guard.ts";
import { policyOf } from "../../support/policy-of.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

const policy = policyOf({ preset: "balanced", guard: { reserve_tokens: 0 } });
const log = (lines: number, name: string) =>
	Array.from(
		{ length: lines },
		(_, index) => `const ${name}${index} = compute(${index * 7}, "value of ${name} ${index}");`,
	).join("\n");

/** Older turns with small results, and one large result that is recent. */
const messages = openaiMessages(
	user("Fix the task."),
	...Array.from({ length: 12 }, (_, index) => toolTurn(`c${index}`, log(12, `small${index}_`))),
	toolTurn("large", log(900, "large")),
	user("Go on."),
);

const guard = (contextWindow: number) => guardConversation({ conversation: messages, policy, contextWindow });

describe("a large recent result", () => {
	it.each([4_000, 5_000, 6_500])(
		"does not push out everything older in a window of %i tokens",
		async (contextWindow) => {
			const { conversation, report } = await guard(contextWindow);
			expect(report.fits).toBe(true);
			expect(report.tokens.after).toBeGreaterThan(contextWindow / 2);
			expect((conversation as readonly unknown[]).length).toBe(messages.length);
			expect(report.steps.map(({ step }) => step)).not.toContain("drop");
		},
	);

	it("is cut no further than the policy says if that suffices", async () => {
		const { conversation } = await guard(9_000);
		const large = (conversation as readonly { content: unknown }[]).at(-2)?.content;
		expect(String(large).length).toBeGreaterThan(15_000);
	});

	it("keeps its cut in all calls that follow, unless it is cut further or goes", async () => {
		const turns = Array.from({ length: 14 }, (_, index) =>
			toolTurn(`t${index}`, log(index % 4 === 1 ? 500 : 25, "row")),
		);
		const whole = openaiMessages(user("Fix the task."), ...turns);
		const unmasked = policyOf({ preset: "balanced", guard: { reserve_tokens: 0 }, mask: { enabled: false } });
		let before = new Map<string, string>();
		let cuts = 0;
		for (let end = 3; end <= whole.length; end += 2) {
			const request = { conversation: whole.slice(0, end), policy: unmasked, contextWindow: 9_000 };
			const { edits, report } = await guardConversation(request);
			expect(report.fits).toBe(true);
			const dropped = new Set(edits.flatMap(({ kind, message }) => (kind === "remove" ? [message] : [])));
			const now = new Map(edits.map(({ path, replacement }) => [JSON.stringify(path), String(replacement)]));
			for (const [path, text] of before) {
				if (dropped.has(Number(path.split("/")[1]))) continue;
				const isSame = now.get(path) === text;
				if (!isSame) expect(now.get(path)?.length).toBeLessThan(text.length);
			}
			cuts += [...now.values()].filter((text) => text.length > 1_000 && text.length < 12_000).length;
			before = now;
		}
		expect(cuts).toBeGreaterThan(3);
	});

	it("is not cut further by head and tail, since the policy gives their lengths", async () => {
		const headTail = policyOf({
			preset: "balanced",
			guard: { reserve_tokens: 0 },
			truncate: { strategy: "head_tail" },
		});
		const lastResult = async (contextWindow: number) => {
			const { conversation, report } = await guardConversation({
				conversation: messages,
				policy: headTail,
				contextWindow,
			});
			return { steps: report.steps.map(({ step }) => step), result: (conversation as readonly unknown[]).at(-2) };
		};
		const narrow = await lastResult(1_350);
		expect(narrow.steps).toContain("drop");
		expect(narrow.result).toEqual((await lastResult(9_000)).result);
	});
});

describe("a text of a message that takes more than the window, such as a skill", () => {
	const skill = `Base directory for this skill: /skills/large\n\n${log(2_000, "step")}`;
	const small = (from: number, count: number) =>
		Array.from({ length: count }, (_, index) => toolTurn(`c${from + index}`, log(12, `small${from + index}_`)));
	const session = openaiMessages(user("Fix the task."), ...small(0, 12), user(skill), ...small(20, 6));

	it.each([true, false])(
		"goes before what is older, and its first lines stay if words of people do (%s)",
		async (keeps) => {
			const keeping = policyOf({
				preset: "balanced",
				guard: { reserve_tokens: 0 },
				compaction: { keep_user_text: keeps },
			});
			const { conversation, report } = await guardConversation({
				conversation: session,
				policy: keeping,
				contextWindow: 9_000,
			});
			expect(report.fits).toBe(true);
			expect(report.steps).toMatchObject([{ step: "drop", count: 1 }]);
			expect((conversation as readonly unknown[]).length).toBe(session.length - 1);
			const written = JSON.stringify(conversation);
			expect(written.includes("Base directory for this skill")).toBe(keeps);
			expect(report.notes.some((note) => note.includes("too small for everything that people wrote"))).toBe(keeps);
		},
	);

	it("stays gone in all calls that follow", async () => {
		const skillAt = 1 + 2 * 12;
		const whole = [...session, ...openaiMessages(...small(40, 60))];
		for (let end = skillAt + 3; end <= whole.length; end += 2) {
			const request = { conversation: whole.slice(0, end), policy, contextWindow: 9_000 };
			const { edits, report } = await guardConversation(request);
			expect(report.fits).toBe(true);
			expect(edits.some(({ kind, message }) => kind === "remove" && message === skillAt)).toBe(true);
		}
	});

	it("goes after all that is older where results are cut to head and tail, as the source documents say", async () => {
		const { report } = await guardConversation({
			conversation: session,
			policy: policyOf({ preset: "context-guard", guard: { reserve_tokens: 0 } }),
			contextWindow: 9_000,
		});
		expect(report.steps.find(({ step }) => step === "drop")?.count).toBeGreaterThan(20);
	});
});
