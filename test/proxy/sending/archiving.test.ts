import { expect, it } from "vitest";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { createOriginals } from "../../../src/proxy/sending/archiving.ts";
import { memoryArchive } from "../played.ts";
import { requestOf, turnsOf } from "../sessions.ts";

it("a result that was sent as an answer of ours, without a reference, is archived before it is masked", async () => {
	const archive = await memoryArchive();
	const body = JSON.parse(String(requestOf("anthropic", turnsOf(1)).body));
	const [paired] = pairResults(readConversation(body).transcript);
	if (!paired) throw new Error("A result was expected.");
	const text = paired.result.texts[0]?.text ?? "";
	const originals = createOriginals({ archive, now: () => 0, isPlaceholder: () => false });
	const one = { key: "a", paired, values: new Map([["whole", () => "short"]] as const) };
	await originals.keep(body, [{ ...one, ref: undefined }]);
	await originals.archive(body, [{ ...one, ref: archive.refOf(text) }]);
	expect((await archive.get(archive.refOf(text))).text).toBe(text);
});
