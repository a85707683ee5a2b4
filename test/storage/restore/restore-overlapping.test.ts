import { beforeEach, expect, it } from "vitest";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { type Place, placesKey } from "../../../src/storage/restore/places.ts";
import { restoreConversation, restoreText } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

const policy = policyOf({ locale: "en", mask: { placeholder_template: "[gone: {ref}]" } });

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

async function keep(text: string, toolCallId: string): Promise<{ ref: string; placeholder: string }> {
	const [ref = ""] = await archive.put([{ kind: "result", text, toolCallId }]);
	return { ref, placeholder: `[gone: ${ref}]` };
}

/** As an archive holds the values that one result has replaced. */
const keepPlaces = (ref: string, record: number, toolCallId: string, places: readonly Place[]) =>
	archive.put([
		{
			kind: "places",
			text: JSON.stringify({ record, tool_call_id: toolCallId, places }),
			toolCallId: placesKey(ref),
		},
	]);

async function restored(conversation: unknown) {
	const { report, conversation: back } = await restoreConversation({ conversation, archive, policy });
	const text = await restoreText({ text: JSON.stringify(conversation), archive, policy, name: "it" });
	expect(JSON.parse(text.text)).toEqual(back);
	return { back, report };
}

it("a result that would replace a value restored before waits for the next round", async () => {
	const [first, second] = [await keep("the first", "a"), await keep("the second", "b")];
	const written = (a: string, b: string) => openaiMessages(user("Go."), toolTurn("a", a), toolTurn("b", b));
	await keepPlaces(second.ref, 4, "b", [
		{ offset: 0, path: "/content", is: second.placeholder, was: '"another second"' },
		{ offset: -2, path: "/content", is: first.placeholder, was: '"another first"' },
	]);
	const { back, report } = await restored(written(first.placeholder, second.placeholder));
	expect(back).toEqual(written("the first", "the second"));
	expect(report).toMatchObject({ restored: 2, missing: [], ambiguous: [] });
});

it("a text within a value that came back is not restored a second time", async () => {
	const [first, second] = [await keep("the first", "a"), await keep("the second", "a")];
	const parts = (...texts: readonly string[]) => texts.map((text) => ({ type: "text", text }));
	const written = (content: unknown) => openaiMessages(user("Go."), toolTurn("a", content));
	const masked = parts(first.placeholder, second.placeholder);
	const whole = parts("one", "two", "three");
	await keepPlaces(first.ref, 2, "a", [{ offset: 0, path: "/content", is: masked, was: JSON.stringify(whole) }]);
	const { back, report } = await restored(written(masked));
	expect(back).toEqual(written(whole));
	expect(report).toMatchObject({ restored: 1, missing: [], ambiguous: [] });
});

it("a value around one that came back waits too", async () => {
	const [first, second] = [await keep("the first", "a"), await keep("the second", "a")];
	const parts = (...texts: readonly string[]) => texts.map((text) => ({ type: "text", text }));
	const written = (content: unknown) => openaiMessages(user("Go."), toolTurn("a", content));
	const masked = parts(first.placeholder, second.placeholder);
	await keepPlaces(second.ref, 2, "a", [{ offset: 0, path: "/content", is: masked, was: '"all of it"' }]);
	const { back, report } = await restored(written(masked));
	expect(back).toEqual(written(parts("the first", "the second")));
	expect(report).toMatchObject({ restored: 2, missing: [], ambiguous: [] });
});
