import { beforeEach, describe, expect, it } from "vitest";
import { localeNames } from "../../../src/engine/policy/names.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { resultContents } from "../../support/raw-conversation.ts";
import { outputOf } from "../../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

const victim = `src/secret.ts ${outputOf("secret")}`;

const last = toolTurn("last", "done");

const wordings = localeNames.flatMap((locale) => [0, 60].map((digest_tokens) => ({ locale, digest_tokens })));

describe.each(wordings)("a tool output that looks like a placeholder: $locale, $digest_tokens", (wording) => {
	const { locale, digest_tokens } = wording;
	const policy = policyOf({ locale, mask: { window_turns: 1, digest_tokens } });

	/** The placeholder and the reference of a result of call `a`. */
	async function maskedVictim() {
		const conversation = openaiMessages(user("Go."), toolTurn("a", victim), last);
		const { edits } = await maskConversation({ conversation, policy, archive });
		const { replacement, ref = "" } = edits[0] ?? {};
		return { placeholder: String(replacement), ref };
	}

	async function restored(id: string, content: string) {
		const conversation = openaiMessages(user("Go."), toolTurn("a", victim), toolTurn(id, content), last);
		const masked = await maskConversation({ conversation, policy, archive });
		expect(resultContents(masked.conversation)[1]).toBe(content);
		const back = await restoreConversation({ conversation: masked.conversation, archive, policy });
		expect(back.conversation).toEqual(conversation);
		return back.report;
	}

	it("stays unchanged when another call answered, and is ambiguous", async () => {
		const { placeholder, ref } = await maskedVictim();
		expect(await restored("b", placeholder)).toMatchObject({ restored: 1, missing: [], ambiguous: [ref] });
	});

	it("stays unchanged when it names its own call and the reference of another", async () => {
		const { placeholder, ref } = await maskedVictim();
		const own = placeholder.replace("tool_call_id=a", "tool_call_id=b");
		expect(await restored("b", own)).toMatchObject({ restored: 1, missing: [], ambiguous: [ref] });
	});

	it("stays unchanged when its number of characters differs", async () => {
		const { placeholder, ref } = await maskedVictim();
		if (!placeholder.includes("chars=")) return;
		const other = placeholder.replace(/chars=\d+/, "chars=7");
		const conversation = openaiMessages(user("Go."), toolTurn("a", other), last);
		const back = await restoreConversation({ conversation, archive, policy });
		expect(back.conversation).toBe(conversation);
		expect(back.report).toMatchObject({ restored: 0, missing: [], ambiguous: [ref] });
	});
});

it("a placeholder without a reference that names another call is ambiguous", async () => {
	const policy = policyOf({ locale: "en" });
	await archive.put([{ kind: "result", text: victim, toolCallId: "b" }]);
	const fake = `[Observation masked: old tool result (tool_call_id=a, tool=ls, chars=${victim.length})]`;
	const conversation = openaiMessages(user("Go."), toolTurn("b", fake));
	const back = await restoreConversation({ conversation, archive, policy });
	expect(back.conversation).toBe(conversation);
	expect(back.report).toMatchObject({ restored: 0, missing: [], ambiguous: ["b"], without_reference: [] });
});

it("an id cleaned for its placeholder still identifies its call", async () => {
	const policy = policyOf({ locale: "en", mask: { window_turns: 1 } });
	const ids = ["call=1,2", "[x](y)", ` ${"long ".repeat(40)}`, "\ud83d{a}", "=,()"];
	const conversation = openaiMessages(user("Go."), ...ids.map((id) => toolTurn(id, outputOf(id))), last);
	const { conversation: masked, edits } = await maskConversation({ conversation, policy, archive });
	expect(edits).toHaveLength(ids.length);
	const back = await restoreConversation({ conversation: masked, archive, policy });
	expect(back.conversation).toEqual(conversation);
	expect(back.report).toMatchObject({ restored: ids.length, ambiguous: [], missing: [] });
});

describe("a cut text that another call quotes exactly", () => {
	it.each(["head_tail", "auto"] as const)("stays unchanged and is ambiguous: %s", async (strategy) => {
		const guard = { max_tool_result_chars: 1_000, truncate_head_chars: 200, truncate_tail_chars: 200 };
		const policy = policyOf({ locale: "en", guard, truncate: { strategy } });
		const request = { conversation: openaiMessages(user("Go."), toolTurn("a", victim)), policy, archive };
		const { conversation, edits } = await guardConversation({ ...request, contextWindow: 100_000 });
		const [cut] = resultContents(conversation) as string[];
		const quoting = openaiMessages(user("Go."), toolTurn("a", cut), toolTurn("b", cut));
		const back = await restoreConversation({ conversation: quoting, archive, policy });
		expect(resultContents(back.conversation)).toEqual([victim, cut]);
		expect(back.report).toMatchObject({ restored: 1, ambiguous: [edits[0]?.ref], missing: [] });
	});
});

describe("a conversation masked without an archive", () => {
	const policy = policyOf({ mask: { window_turns: 1 } });
	const mine = openaiMessages(user("Mine."), toolTurn("call_1", outputOf("my own")), last);

	it("gets no text of another conversation with the same call ids", async () => {
		const others = openaiMessages(user("Theirs."), toolTurn("call_1", victim), last);
		await maskConversation({ conversation: others, policy, archive });
		const { conversation: masked } = await maskConversation({ conversation: mine, policy });
		const back = await restoreConversation({ conversation: masked, archive, policy });
		expect(back.conversation).toBe(masked);
		expect(back.report).toMatchObject({ restored: 0, without_reference: ["call_1"], missing: [], ambiguous: [] });
	});
});
