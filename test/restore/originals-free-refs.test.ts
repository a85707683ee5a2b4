import { beforeEach, describe, expect, it } from "vitest";
import type { Archive, Original } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import { originalsOf, refTaken, withFreeRefs } from "../../src/restore/originals.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

/** Fails so many times, and counts its calls. */
function failing(times: number, error: unknown) {
	let calls = 0;
	return async () => {
		calls += 1;
		if (calls <= times) throw error;
		return calls;
	};
}

describe("an operation whose reference is taken", () => {
	it("is tried up to five times", async () => {
		expect(await withFreeRefs(failing(0, refTaken))).toBe(1);
		expect(await withFreeRefs(failing(4, refTaken))).toBe(5);
		await expect(withFreeRefs(failing(5, refTaken))).rejects.toMatchObject({ code: "ambiguous_reference" });
	});

	it("is not tried again after another error", async () => {
		const error = new Error("Two texts would get the same reference.");
		await expect(withFreeRefs(failing(1, error))).rejects.toBe(error);
	});

	/** Archives under other references than planned, so many times for a kind. */
	function taking(kind: Original["kind"], times: number) {
		const seen = { calls: 0, originals: [] as Original[] };
		const put: Archive["put"] = async (originals) => {
			const refs = await archive.put(originals);
			const place = originals.findIndex((one) => one.kind === kind);
			seen.calls += 1;
			seen.originals = [...originals];
			return seen.calls <= times && place !== -1 ? refs.with(place, "another") : refs;
		};
		return { seen, archive: { ...archive, put } };
	}

	const conversation = agentConversation(6);

	it("is a masking", async () => {
		const { seen, archive: taken } = taking("result", 1);
		const policy = policyOf({ mask: { window_turns: 2 } });
		const outcome = await maskConversation({ conversation, policy, archive: taken });
		expect(outcome.error).toBeUndefined();
		expect(seen.calls).toBe(2);
		const text = outputOf("no secret");
		expect(seen.originals.every((one) => one.kind === "result" && one.text !== text)).toBe(true);
	});

	it("is a summary, but no dropped group, which nothing names before it is archived", async () => {
		const summarising = taking("group", 1);
		const outcome = await compactConversation({
			conversation,
			policy: policyOf({ compaction: { keep_last_messages: 1 } }),
			strategy: { kind: "built_in", name: "llm-summary" },
			answer: { kind: "given", summary: "Read on." },
			force: true,
			archive: summarising.archive,
		});
		expect(outcome.report.result).toBe("summarised");
		expect(summarising.seen.calls).toBe(2);
		const dropping = taking("group", 1);
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const dropped = await guardConversation({ conversation, policy, archive: dropping.archive, contextWindow: 2_000 });
		expect(dropped.report.dropped_groups?.length).toBeGreaterThan(0);
		expect(dropping.seen.calls).toBe(1);
	});

	it("is a truncation", async () => {
		const { seen, archive: taken } = taking("text", 2);
		const { report } = await truncateText({
			text: outputOf("a", 500),
			policy: policyOf(),
			archive: taken,
			maxChars: 900,
		});
		expect(report.truncated).toBe(true);
		expect(seen.calls).toBe(3);
	});
});

describe("an archive that fails with an error of its own", () => {
	it("fails the operation, whatever the policy says", async () => {
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
