import { describe, expect, it } from "vitest";
import { localeNames } from "../../../src/engine/policy/names.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { locales } from "../../../src/engine/policy/wordings.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { truncateText } from "../../../src/operations/truncate.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { placeholdersOf } from "../../../src/storage/restore/recognise.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { openaiMessages, system, toolTurn, user } from "../../support/script.ts";

const templates = ["gone: {ref}", "[{tool_name}]", "{tool_call_id} {original_chars} {ref}", "hidden"];

const guard = { truncate_when: "always", truncate_head_chars: 5, truncate_tail_chars: 5 } as const;

const layers: PolicyLayer[] = [
	...localeNames.map((locale): PolicyLayer => ({ locale })),
	...templates.map((placeholder_template): PolicyLayer => ({ mask: { placeholder_template } })),
];

const policies = layers.map((layer) =>
	policyOf({ ...layer, mask: { window_turns: 1, ...layer.mask }, guard: { ...guard, max_tool_result_chars: 60 } }),
);

/** A placeholder of every locale, with a reference and without. */
const written = Object.values(locales).flatMap(({ placeholder, media_placeholder, archived }) =>
	[placeholder, media_placeholder, archived.placeholder, archived.media_placeholder].map((template) =>
		template
			.replace("{media}", "image/png, 90 B")
			.replace("{tool_call_id}", "c0")
			.replace("{tool_name}", "read_file")
			.replace("{original_chars}", "120")
			.replace("{ref}", "ku193re960gi257do532"),
	),
);

const open = async () => (await openArchive({ where: "memory" })) as Archive;

async function textsIn(archive: Archive): Promise<string[]> {
	const texts: string[] = [];
	for await (const { ref, kind } of archive.list()) {
		if (kind === "result" || kind === "text") texts.push((await archive.get(ref)).text);
	}
	return texts;
}

describe("an archived text", () => {
	const turns = written.flatMap((text, index) => [
		...toolTurn(`whole${index}`, text),
		...toolTurn(`listed${index}`, [
			{ type: "text", text: outputOf(`${index}`) },
			{ type: "text", text },
		]),
		...toolTurn(`alone${index}`, [{ type: "text", text }]),
		...toolTurn(`plain${index}`, outputOf(`plain ${index}`)),
	]);
	const conversation = openaiMessages(system("S"), user("The task."), turns);

	it.each(policies.map((policy, index) => [JSON.stringify(layers[index]), policy] as const))(
		"is not a placeholder of any locale or of the policy %s",
		async (_, policy) => {
			const archive = await open();
			const isPlaceholder = placeholdersOf(policy);
			expect(written.filter((text) => !isPlaceholder(text))).toEqual([]);
			const masked = await maskConversation({ conversation, policy, archive });
			expect(masked.error).toBeUndefined();
			expect(masked.report.masked_tool_results).toBe(written.length - 1);
			for (const contextWindow of [100_000, 8_192 + 100]) {
				const subject = masked.conversation;
				const guarded = await guardConversation({ conversation: subject, policy, archive, contextWindow });
				expect(guarded.error).toBeUndefined();
			}
			const texts = await textsIn(archive);
			expect(texts.length).toBeGreaterThan(written.length - 1);
			expect(texts.filter(isPlaceholder)).toEqual([]);
		},
	);

	it("is not a placeholder longer than the maximum length of a text", async () => {
		const archive = await open();
		for (const text of written) {
			const cut = await truncateText({ text, policy: policyOf({ truncate: { max_chars: 10 } }), archive });
			expect(cut).toMatchObject({ text, report: { truncated: false } });
		}
		expect(await textsIn(archive)).toEqual([]);
	});
});
