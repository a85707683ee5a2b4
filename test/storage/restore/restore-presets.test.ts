import { beforeEach, describe, expect, it } from "vitest";
import { localeNames } from "../../../src/engine/policy/names.ts";
import { presets } from "../../../src/engine/policy/presets.ts";
import { compactConversation } from "../../../src/operations/compact.ts";
import type { Outcome } from "../../../src/operations/conversation.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { truncateText } from "../../../src/operations/truncate.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf, textOfLength } from "../../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";
import { standInSummariser } from "../../support/stand-in-summariser.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

const presetNames = Object.keys(presets) as (keyof typeof presets)[];

const all = presetNames.flatMap((preset) => localeNames.map((locale) => ({ preset, locale })));

const turns = Array.from({ length: 12 }, (_, turn) => toolTurn(`c${turn}`, outputOf(`${turn}`)));

const large = [1, 2].map((one) => toolTurn(`large${one}`, `${one} ${textOfLength(60_000)}`));

const conversation = openaiMessages(user("The task."), ...large, ...turns);

const answer = { kind: "summariser", summariser: standInSummariser() } as const;

const clean = { missing: [], ambiguous: [], without_reference: [], summaries: [] };

describe.each(all)("results removed by $preset in $locale", ({ preset, locale }) => {
	const policyWith = (layer: object) => policyOf({ preset, locale, ...layer });

	async function comesBack({ edits, conversation: shorter, error }: Outcome<unknown>) {
		expect(error).toBeUndefined();
		const taken = edits.filter(({ reason }) => reason === "mask" || reason === "truncate");
		expect(taken).not.toEqual([]);
		expect(taken).toHaveLength(edits.length);
		for (const { ref, replacement } of taken)
			expect(JSON.stringify(replacement)).toMatch(new RegExp(`(?:r[eé]f=|\\#)${ref}`));
		// Whoever restores need not know the policy that it was shortened by.
		const back = await restoreConversation({ conversation: shorter, archive, policy: policyOf() });
		expect(back.conversation).toEqual(conversation);
		expect(back.report).toMatchObject({ ...clean, restored: taken.length });
	}

	it("are restored after masking", async () => {
		const policy = policyWith({ mask: { enabled: true, cadence: "every_turn" } });
		await comesBack(await maskConversation({ conversation, policy, archive }));
	});

	it("are restored after the guard, and reported when nothing was archived", async () => {
		const policy = policyWith({ guard: { truncate_when: "always" } });
		const request = { conversation, policy, contextWindow: 30_000 };
		await comesBack(await guardConversation({ ...request, archive }));
		const { conversation: shorter } = await guardConversation(request);
		const { report } = await restoreConversation({ conversation: shorter, archive, policy: policyOf() });
		expect(report).toMatchObject({ restored: 0, missing: [], ambiguous: [] });
		expect(report.without_reference).toEqual(expect.arrayContaining(["large1", "large2"]));
	});

	it("are restored after hiding by compaction", async () => {
		const policy = policyWith({});
		const strategy = { kind: "built_in", name: "tool-result-hiding" } as const;
		await comesBack(await compactConversation({ conversation, policy, archive, strategy, answer, force: true }));
	});

	it("are restored after truncating a text, JSON too; an unknown owner is reported", async () => {
		const policy = policyWith({});
		const json = JSON.stringify({ id: 7, content: textOfLength(70_000), behind: [1, 2] });
		for (const text of [textOfLength(70_000), json]) {
			const { text: cut, report } = await truncateText({ text, policy, archive });
			expect(cut).toMatch(new RegExp(`(?:r[eé]f=|\\#)${report.ref}`));
			const back = await restoreConversation({
				conversation: openaiMessages(user("Go."), toolTurn("t", cut)),
				archive,
				policy,
			});
			if (policy.truncate.strategy === "head_tail") {
				expect(back.conversation).toEqual(openaiMessages(user("Go."), toolTurn("t", text)));
				expect(back.report).toMatchObject({ ...clean, restored: 1 });
			} else expect(back.report).toMatchObject({ ...clean, restored: 0, ambiguous: [report.ref] });
		}
	});
});

it("a summary is named with the reference of the summarised messages", async () => {
	const policy = policyOf();
	const strategy = { kind: "built_in", name: "llm-summary" } as const;
	const outcome = await compactConversation({ conversation, policy, archive, strategy, answer, force: true });
	const { report } = await restoreConversation({ conversation: outcome.conversation, archive, policy });
	const [ref = ""] = report.summaries;
	expect((await archive.get(ref)).kind).toBe("group");
});

it("a template worded like ours names the reference with an archive, and stays unchanged without", async () => {
	const template =
		"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]";
	const policy = policyOf({ mask: { window_turns: 1, placeholder_template: template } });
	const written = async (kept: Archive | undefined) =>
		String((await maskConversation({ conversation, policy, archive: kept })).edits[0]?.replacement);
	expect(await written(archive)).toMatch(/, chars=\d+, réf=\w{12}\)\]$/);
	expect(await written(undefined)).toMatch(/, chars=\d+\)\]$/);
});

it("a result that was redacted and cut is restored in its redacted form", async () => {
	archive = (await openArchive({ where: "memory", redact: ["^1 0"] })) as Archive;
	const policy = policyOf();
	const cut = await guardConversation({ conversation, policy, archive, contextWindow: 1_000_000 });
	const { report } = await restoreConversation({ conversation: cut.conversation, archive, policy });
	expect(report).toMatchObject({ ...clean, restored: 2 });
	expect(report.redacted).toHaveLength(1);
});

it("a result cut by its host with our English marker's words is not ours", async () => {
	const cut = `${textOfLength(5_000)}\n\n... [2374 characters truncated] ...\n\n${textOfLength(5_000)}`;
	const given = openaiMessages(user("Go."), toolTurn("a", cut));
	const back = await restoreConversation({ conversation: given, archive, policy: policyOf({ locale: "en" }) });
	expect(back.report).toMatchObject({ ...clean, restored: 0 });
});

it("a custom marker without a reference counts only at the position of a cut", async () => {
	const guard = { max_tool_result_chars: 1_000, truncate_head_chars: 200, truncate_tail_chars: 200 };
	const policy = policyOf({ guard: { ...guard, marker_template: "..." } });
	const dotted = openaiMessages(user("Go."), toolTurn("a", "one ... two"), toolTurn("b", textOfLength(5_000)));
	const { conversation: cut, edits } = await guardConversation({
		conversation: dotted,
		policy,
		archive,
		contextWindow: 100_000,
	});
	expect(edits).toHaveLength(1);
	const { report } = await restoreConversation({ conversation: cut, archive, policy });
	expect(report).toMatchObject({ restored: 0, without_reference: ["b"] });
});
