import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";

type Json = Record<string, unknown>;

const answer = `The user answered: "Only the invoices. Never delete a row without asking." ${"And keep the log. ".repeat(40)}`;
const skill = `# How we publish\n${Array.from({ length: 400 }, (_, at) => `${at}. Look at part ${at * 13} of the list.`).join("\n")}`;
const output = Array.from({ length: 200 }, (_, at) => `line ${at}: ${(at * 7_919) % 10_007} of the output`).join("\n");

/** All that may go goes, whatever the cache costs. */
const eagerly = { cadence: "every_turn", thrift: "high" } as const;

let calls = 0;
function turn(name: string, content: string, input: Json = {}): Json[] {
	calls += 1;
	const id = `call_${calls}`;
	const call = { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
	return [
		{ role: "assistant", content: null, tool_calls: [call] },
		{ role: "tool", tool_call_id: id, content },
	];
}
const work = (turns: number) => Array.from({ length: turns }, (_, at) => turn("bash", output, { at })).flat();
const said = (content: string): Json => ({ role: "user", content });

async function masked(messages: readonly Json[], layer: PolicyLayer = {}): Promise<string> {
	const policy = policyOf({ preset: "balanced", locale: "en", ...layer });
	const { conversation, report } = await maskConversation({ conversation: { model: "gpt-5", messages }, policy });
	expect(report.masked_tool_results).toBeGreaterThan(3);
	return JSON.stringify(conversation);
}

describe("a person's answer to a tool", () => {
	const names = ["AskUserQuestion", "ask_user", "ask_user_question", "request_user_input", "question", "clarify"];
	const asked = (name: string) => [said("Prepare it."), ...turn(name, answer), ...work(16)];

	it.each(names)("is never masked by use: %s", async (name) => {
		expect(await masked(asked(name))).toContain("Never delete a row without asking.");
	});

	it("is masked by age, and where a rule names the tool", async () => {
		const byAge = { preset: "observation-masking" } as const;
		expect(await masked(asked("ask_user"), byAge)).not.toContain("Never delete a row");
		const ruled = { mask: { ...eagerly, tools: { ask_user: "always" } } } as const;
		expect(await masked(asked("ask_user"), ruled)).not.toContain("Never delete a row");
	});

	it.each(names)("stays word for word in a summary: %s", async (name) => {
		const { conversation } = await compactConversation({
			conversation: { model: "gpt-5", messages: asked(name) },
			policy: policyOf({ preset: "balanced", locale: "en" }),
			strategy: { kind: "built_in", name: "llm-summary" },
			answer: { kind: "given", summary: "## Task\nPrepare it.", token: undefined },
			contextWindow: 128_000,
			force: true,
		});
		const { messages } = conversation as { readonly messages: readonly Json[] };
		expect(messages.length).toBeLessThan(10);
		expect(JSON.stringify(messages)).toContain("Never delete a row without asking.");
		expect(JSON.stringify(messages)).toContain(answer.trim().slice(-200).trim());
	});

	it("stays word for word where a guard drops it, also in the next guard", async () => {
		const guarded = async (conversation: unknown) => {
			const layer = { guard: { ladder: ["drop"] }, truncate: { repeats: false } } as const;
			const policy = policyOf({ preset: "balanced", locale: "en", ...layer });
			const done = await guardConversation({ conversation, policy, contextWindow: 4_000, reserveTokens: 0 });
			expect(done.report.fits).toBe(true);
			return done.conversation as readonly Json[];
		};
		const once = await guarded(asked("ask_user"));
		expect(once.filter(({ tool_calls: made }) => JSON.stringify(made)?.includes("ask_user"))).toEqual([]);
		const twice = await guarded([...once, said("And now this."), ...work(16)]);
		for (const left of [once, twice]) {
			expect(JSON.stringify(left).split("Never delete a row without asking.")).toHaveLength(2);
			expect(JSON.stringify(left)).toContain(answer.trim().slice(-200).trim());
		}
	});

	it("is not hidden where people's words stay", async () => {
		const hide = async (layer: PolicyLayer) => {
			const { conversation } = await compactConversation({
				conversation: { model: "gpt-5", messages: asked("ask_user") },
				policy: policyOf({ locale: "en", ...layer }),
				strategy: { kind: "built_in", name: "tool-result-hiding" },
				answer: { kind: "none" },
				force: true,
			});
			return JSON.stringify(conversation);
		};
		expect(await hide({})).toContain("Never delete a row without asking.");
		expect(await hide({ compaction: { keep_user_text: false } })).not.toContain("Never delete a row");
	});
});

describe("the instructions of a skill", () => {
	const loaded = (name: string) => turn(name, skill, { name: "publish" });

	it.each(["skill", "Skill", "activate_skill", "skill_view", "load_skill"])(
		"stay while the skill is in use: %s",
		async (name) => {
			expect(await masked([said("Publish it."), ...loaded(name), ...work(16)])).toContain("How we publish");
			const next = [said("Publish it."), ...loaded(name), ...work(8), said("Go on."), ...work(8)];
			expect(await masked(next)).toContain("How we publish");
		},
	);

	it("go after the person's next request but one", async () => {
		const messages = [
			said("Publish it."),
			...loaded("skill"),
			said("Go on."),
			...work(8),
			said("Now this."),
			...work(12),
		];
		expect(await masked(messages, { mask: eagerly })).not.toContain("How we publish");
		expect(await masked(messages.slice(0, 20), { mask: eagerly })).toContain("How we publish");
	});

	it("go once the same skill is loaded again, and stay after another one", async () => {
		const again = await masked([said("Publish it."), ...loaded("skill"), ...work(2), ...loaded("skill"), ...work(16)], {
			mask: eagerly,
		});
		expect(again.split("How we publish")).toHaveLength(2);
		const other = turn("skill", skill.replace("publish", "review"), { name: "review" });
		const both = await masked([said("Publish it."), ...loaded("skill"), ...work(2), ...other, ...work(16)], {
			mask: eagerly,
		});
		expect(both).toContain("How we publish");
		expect(both).toContain("How we review");
	});
});
