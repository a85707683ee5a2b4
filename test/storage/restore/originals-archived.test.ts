import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { PalimpsestError } from "../../../src/errors.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { truncateText } from "../../../src/operations/truncate.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { originalsOf } from "../../../src/storage/restore/originals.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { agentConversation } from "../../support/agent-conversation.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf, textOfLength } from "../../support/sample-text.ts";
import { openaiMessages, system, toolTurn, user } from "../../support/script.ts";

const turns = (count: number) =>
	Array.from({ length: count }, (_, index) => toolTurn(`c${index}`, outputOf(`${index}`)));

const conversation = openaiMessages(system("S"), user("The task."), ...turns(6));

const masking = (layer: PolicyLayer = {}) => policyOf({ mask: { window_turns: 2 }, ...layer });

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

const unavailable = (): Archive => ({
	...archive,
	put: () => Promise.reject(new PalimpsestError("archive_unavailable", "The disk is full.")),
});

describe("masking with an archive", () => {
	it("names each original by a reference that reads it back exactly", async () => {
		const outcome = await maskConversation({ conversation, policy: masking(), archive });
		const masked = outcome.edits.filter(({ reason }) => reason === "mask");
		expect(masked).toHaveLength(4);
		for (const [index, { ref, replacement, tool_call_id, tool_name: toolName }] of masked.entries()) {
			const told = `tool_call_id=c${index}, outil=${toolName}, chars=${outputOf(`${index}`).length}, réf=${ref}`;
			expect(replacement).toBe(`[Observation masquée: résultat d'outil ancien (${told})]`);
			expect(tool_call_id).toBe(`c${index}`);
			expect((await archive.get(ref ?? "")).text).toBe(outputOf(`${index}`));
			expect(await archive.find(`c${index}`)).toMatchObject([{ ref, kind: "result", toolCallId: `c${index}` }]);
		}
	});

	it("writes the template without a reference when there is no archive", async () => {
		const { edits } = await maskConversation({ conversation, policy: masking() });
		expect(edits.every(({ ref, replacement }) => ref === undefined && !String(replacement).includes("réf"))).toBe(true);
		const own = masking({ mask: { window_turns: 2, placeholder_template: "gone: {ref}" } });
		const { edits: ofOwn } = await maskConversation({ conversation, policy: own });
		expect(ofOwn[0]?.replacement).toBe("gone: -");
	});

	it("gives the same placeholders to any caller at any time", async () => {
		const first = await maskConversation({ conversation, policy: masking(), archive });
		const again = await maskConversation({ conversation: structuredClone(conversation), policy: masking(), archive });
		expect(again).toEqual(first);
		const more = openaiMessages(system("S"), user("The task."), ...turns(7));
		const longer = await maskConversation({ conversation: more, policy: masking(), archive });
		expect(longer.edits.slice(0, first.edits.length)).toEqual(first.edits);
	});

	it("does not archive a placeholder as an original", async () => {
		const first = await maskConversation({ conversation, policy: masking(), archive });
		const before = (await archive.stats()).originals;
		const again = await maskConversation({ conversation: first.conversation, policy: masking(), archive });
		expect(again.edits).toEqual([]);
		expect((await archive.stats()).originals).toBe(before);
	});

	it("changes nothing when the archive is not writable, and gives the reason", async () => {
		const outcome = await maskConversation({ conversation, policy: masking(), archive: unavailable() });
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.edits).toEqual([]);
		expect(outcome.error).toMatchObject({ code: "archive_unavailable", message: "The disk is full." });
		expect(outcome.report).toMatchObject({ changed: false, masked_tool_results: 0 });
	});

	it("fails when references cannot be made, unless the policy does without them", async () => {
		const failing = (error: Error): Archive => ({
			...archive,
			refOf: () => {
				throw error;
			},
		});
		const lost = new PalimpsestError("archive_unavailable", "The rules cannot be read.");
		const without = masking({ on_archive_failure: "mask_without_recall" });
		const outcome = await maskConversation({ conversation, policy: without, archive: failing(lost) });
		expect(outcome.edits).toHaveLength(4);
		expect(outcome.report.notes.join()).toContain("The rules cannot be read.");
		for (const [policy, error] of [
			[masking(), lost],
			[without, new PalimpsestError("ambiguous_reference", "Two.")],
			[without, new TypeError("A mistake.")],
		] as const) {
			await expect(maskConversation({ conversation, policy, archive: failing(error) })).rejects.toBe(error);
		}
	});

	it("masks anyway when the policy says so, without promising recall", async () => {
		const policy = masking({ on_archive_failure: "mask_without_recall" });
		const outcome = await maskConversation({ conversation, policy, archive: unavailable() });
		expect(outcome.error).toBeUndefined();
		expect(outcome.edits).toEqual((await maskConversation({ conversation, policy })).edits);
		expect(outcome.report.notes.join()).toContain("cannot be recalled");
	});
});

describe("guarding with an archive", () => {
	const policy = policyOf({
		guard: { max_tool_result_chars: 2_000, truncate_head_chars: 200, truncate_tail_chars: 200 },
	});
	const large = openaiMessages(system("S"), user("The task."), toolTurn("big", textOfLength(9_000)), ...turns(4));

	it("names the original of a cut result in its marker", async () => {
		const outcome = await guardConversation({ conversation: large, policy, archive, contextWindow: 100_000 });
		const cut = outcome.edits.find(({ reason }) => reason === "truncate");
		expect(String(cut?.replacement)).toContain(`caractères omis, réf=${cut?.ref} ...]`);
		expect((await archive.get(cut?.ref ?? "")).text).toBe(textOfLength(9_000));
		const back = await restoreConversation({ conversation: outcome.conversation, archive, policy });
		expect(back.conversation).toEqual(large);
	});

	it("lists dropped groups and keeps them as JSON, found by any of their calls", async () => {
		const outcome = await guardConversation({
			conversation: large,
			policy: policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } }),
			archive,
			contextWindow: 900,
		});
		const groups = outcome.report.dropped_groups ?? [];
		expect(groups.length).toBeGreaterThan(1);
		const [first] = groups;
		expect(JSON.parse((await archive.get(first?.ref ?? "")).text)).toEqual(
			first?.messages.map((index) => large[index]),
		);
		expect(await archive.find("big")).toMatchObject([{ kind: "group", ref: first?.ref }]);
		for (const { reason, ref, message } of outcome.edits) {
			if (reason !== "drop") continue;
			expect(groups.find(({ messages }) => messages.includes(message ?? -1))?.ref).toBe(ref);
		}
	});

	it("changes nothing when the archive is not writable", async () => {
		const outcome = await guardConversation({
			conversation: large,
			policy,
			archive: unavailable(),
			contextWindow: 10_000,
		});
		expect(outcome.conversation).toBe(large);
		expect(outcome.error?.code).toBe("archive_unavailable");
		expect(outcome.report.steps).toEqual([]);
	});
});

describe("truncating with an archive", () => {
	const text = textOfLength(60_000);

	it("keeps the original, and names it in the marker and in the report", async () => {
		const cut = await truncateText({ text, policy: policyOf(), archive });
		expect(cut.text).toContain(`réf=${cut.report.ref} ...]`);
		expect((await archive.get(cut.report.ref ?? "")).text).toBe(text);
		expect((await truncateText({ text: "short", policy: policyOf(), archive })).report.ref).toBeUndefined();
	});

	it("fails when the original cannot be kept, unless the policy allows it", async () => {
		const request = { text, archive: unavailable() };
		await expect(truncateText({ ...request, policy: policyOf() })).rejects.toMatchObject({
			code: "archive_unavailable",
		});
		const allowed = policyOf({ on_archive_failure: "mask_without_recall" });
		expect(await truncateText({ ...request, policy: allowed })).toEqual(await truncateText({ text, policy: allowed }));
	});
});

describe("an archive that fails with an error of its own", () => {
	it("fails the operation under every policy", async () => {
		const mistake = new TypeError("A mistake.");
		const broken = { ...archive, put: () => Promise.reject(mistake) };
		for (const on_archive_failure of ["refuse", "mask_without_recall"] as const) {
			const policy = policyOf({ on_archive_failure, mask: { window_turns: 2 } });
			const masked = maskConversation({ conversation: agentConversation(6), policy, archive: broken });
			await expect(masked).rejects.toBe(mistake);
		}
	});
});

describe("how an original is read again", () => {
	it.each([
		[false, "offered", true, "not_archived"],
		[true, undefined, true, "archived"],
		[true, "offered", false, "archived"],
		[true, "offered", true, "recallable"],
		[true, { by: "read {ref}" }, true, { recalledBy: "read {ref}" }],
		[true, { by: "read {ref}" }, false, "archived"],
	] as const)("with an archive (%s), %o and hints (%s)", (isArchived, recall, recall_hint, originals) => {
		const policy = policyOf({ archive: { recall_hint } });
		expect(originalsOf({ archive: isArchived ? archive : undefined, recall, policy })).toEqual(originals);
	});
});
