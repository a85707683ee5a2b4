import { describe, expect, it } from "vitest";
import { localeNames } from "../../src/engine/policy/names.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation } from "../../src/storage/restore/restore.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const conversation = agentConversation(10);

const hints = {
	fr: " Intact, pas une erreur : à relire avec recall_original.",
	en: " Intact, no error: read it with recall_original.",
	zh: " 原文完好，并非错误：用 recall_original 读取。",
} as const;

describe.each(localeNames)("a placeholder in %s", (locale) => {
	const policy = policyOf({ locale });
	const hint = hints[locale];

	it("says that its original is intact, that it is not an error, and how to read it, when recall is offered", async () => {
		const archive = await memoryArchive();
		const { conversation: masked } = await maskConversation({ conversation, policy, archive, recall: "offered" });
		const [first, second] = resultContents(masked);
		for (const placeholder of [first, second]) {
			expect(placeholder).toMatch(/r[ée]f=[a-z2-7]{12}\)\]? /);
			expect(String(placeholder).endsWith(hint)).toBe(true);
		}
		const again = await maskConversation({ conversation: masked, policy, archive, recall: "offered" });
		expect(again.report.changed).toBe(false);
		const { conversation: restored } = await restoreConversation({ conversation: masked, policy, archive });
		expect(restored).toEqual(conversation);
	});

	it("promises nothing more without recall, and nothing at all without an archive", async () => {
		const archive = await memoryArchive();
		const kept = await maskConversation({ conversation, policy, archive });
		const bare = await maskConversation({ conversation, policy, recall: "offered" });
		for (const outcome of [kept, bare])
			expect(resultContents(outcome.conversation)[0]).not.toContain("recall_original");
		expect(resultContents(kept.conversation)[0]).toMatch(/r[ée]f=/);
		expect(resultContents(bare.conversation)[0]).not.toMatch(/r[ée]f=/);
	});

	it("omits the hint on request, and in a custom template", async () => {
		const archive = await memoryArchive();
		for (const over of [{ archive: { recall_hint: false } }, { mask: { placeholder_template: "[gone {ref}]" } }]) {
			const own = policyOf({ locale, ...over });
			const { conversation: masked } = await maskConversation({
				conversation,
				policy: own,
				archive,
				recall: "offered",
			});
			expect(resultContents(masked)[0]).not.toContain("recall_original");
		}
	});

	it("has the hint for an image too", async () => {
		const archive = await memoryArchive();
		const image = { type: "image_url", image_url: { url: `data:image/png;base64,${pngOf(64, 64)}` } };
		const seen = openaiMessages(user("Go."), toolTurn("call_i", [image]), ...agentTurns());
		const withMedia = { ...policy, media: "mask" as const };
		const { conversation: masked } = await maskConversation({
			conversation: seen,
			policy: withMedia,
			archive,
			recall: "offered",
		});
		expect(JSON.stringify(resultContents(masked)[0])).toContain(hint);
	});
});

function agentTurns() {
	return Array.from({ length: 9 }, (_, index) => toolTurn(`call_${index}`, "ok"));
}

async function memoryArchive(): Promise<Archive> {
	return (await openArchive({ where: "memory" })) as Archive;
}
