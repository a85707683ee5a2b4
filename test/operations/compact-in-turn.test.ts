import { describe, expect, it } from "vitest";
import { compactConversation } from "../../src/operations/compact.ts";
import { rows } from "../formats/all-rows.ts";
import { toolsOf } from "../formats/format-row.ts";
import { applyPlainly } from "../support/apply-plainly.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { assistant, type Entry, toolTurn, user } from "../support/script.ts";

const long = "The module is read, its callers are found and each of them is looked at in turn. ".repeat(30);

type Speaker = "user" | "assistant" | "call" | "result";

/** Converse: a task, two rounds of a tool, an answer, and another question that a tool is called for. */
const speakers: readonly Speaker[] = [
	"user",
	...(["call", "result", "call", "result"] as const),
	"assistant",
	"user",
	...(["call", "result"] as const),
];

const converse = speakers.map((speaker, index) => {
	const role = speaker === "user" || speaker === "result" ? "user" : "assistant";
	const toolUseId = `c${speaker === "call" ? index : index - 1}`;
	if (speaker === "call") return { role, content: [{ toolUse: { toolUseId, name: "read", input: { path: "a.ts" } } }] };
	const text = `${speaker} ${index}: ${long}`;
	if (speaker === "result") return { role, content: [{ toolResult: { toolUseId, content: [{ text }] } }] };
	return { role, content: [{ text }] };
});

const gemini = speakers.map((speaker, index) => {
	const role = speaker === "user" || speaker === "result" ? "user" : "model";
	if (speaker === "call") return { role, parts: [{ functionCall: { name: "read", args: { path: "a.ts" } } }] };
	const text = `${speaker} ${index}: ${long}`;
	if (speaker === "result")
		return { role, parts: [{ functionResponse: { name: "read", response: { output: text } } }] };
	return { role, parts: [{ text }] };
});

async function compactTo(keep: number, conversation: unknown) {
	return compactConversation({
		conversation,
		policy: policyOf({ locale: "en", compaction: { keep_last_messages: keep } }),
		strategy: { kind: "built_in", name: "llm-summary" },
		answer: { kind: "given", summary: "## Task\nRead on." },
		force: true,
	});
}

const rolesOf = (messages: unknown) => (messages as { role: string }[]).map(({ role }) => role);

describe.each([
	["bedrock-converse", converse, (outcome: unknown) => outcome],
	["gemini", { contents: gemini }, (outcome: unknown) => (outcome as { contents: unknown }).contents],
] as const)("a summary with alternating user and assistant messages: %s", (format, conversation, messagesOf) => {
	it("keeps them alternating for any number of kept messages", async () => {
		let summarised = 0;
		for (let keep = 0; keep < speakers.length; keep += 1) {
			const outcome = await compactTo(keep, conversation);
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.format).toBe(format);
			if (outcome.report.result === "summarised") summarised += 1;
			const roles = rolesOf(messagesOf(outcome.conversation));
			expect(roles.filter((role, index) => role === roles[index - 1])).toEqual([]);
		}
		expect(summarised).toBeGreaterThan(5);
	});

	it("keeps the answer before a kept question", async () => {
		const { conversation: after } = await compactTo(3, conversation);
		const said = JSON.stringify(messagesOf(after));
		expect(said).toContain("assistant 5: ");
		expect(said).toContain("user 6: ");
		expect(said).not.toContain("result 4: ");
	});
});

const joining = rows.filter(({ format }) => format.write.part !== undefined);

describe.each(joining)("a summary in $format.title", (row) => {
	const { write, key, body, read } = toolsOf(row);
	const turn = (at: number) => [...toolTurn(`c${at}`, `result ${at}: ${long}`)];
	const said = (at: number) => [assistant(`Answer ${at}.`), user(`Question ${at}.`)];
	const script = [0, 1, 2, 3].flatMap((at) => [...turn(at), ...said(at)]);
	const documentOf = (entries: readonly Entry[]) => deepFreeze({ ...body, [key]: write(user("Task."), ...entries) });
	const plainOf = (document: unknown) =>
		read(document).messages.filter(({ calls, results }) => calls.length === 0 && results.length === 0);

	it("joins the user's message, and no user message meets another one", async () => {
		let summarised = 0;
		for (let keep = 1; keep < 8; keep += 1) {
			const { conversation, edits, error, report } = await compactTo(keep, documentOf(script));
			expect(error).toBeUndefined();
			if (report.result !== "summarised") continue;
			summarised += 1;
			expect(applyPlainly(documentOf(script), edits)).toEqual(JSON.parse(JSON.stringify(conversation)));
			const { messages, plainInTurn } = read(conversation);
			expect(messages[0]?.counted.join("\n")).toMatch(/^Task\.\n+\[Summary of/);
			const roles = plainOf(conversation).map(({ role }) => role);
			if (plainInTurn) expect(roles.filter((role, index) => role === roles[index - 1])).toEqual([]);
		}
		expect(summarised).toBeGreaterThan(3);
	});

	it("takes in the earlier summary of that message", async () => {
		const once = await compactTo(2, documentOf(script));
		const grown = (once.conversation as Record<string, readonly unknown[]>)[key] ?? [];
		const more = write(...[...turn(4), ...said(4), ...turn(5), ...said(5)]);
		const twice = await compactTo(2, { ...body, [key]: [...grown, ...more] });
		expect(twice.report.result).toBe("summarised");
		expect(JSON.stringify(twice.conversation).match(/\[Summary of/g)).toHaveLength(1);
	});
});
