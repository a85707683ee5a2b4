import { expect, it } from "vitest";
import { defaultRetention } from "../../../src/storage/archive/archive.ts";
import { createFilesDriver } from "../../../src/storage/archive/files.ts";
import { createRedact } from "../../../src/storage/archive/redact.ts";
import { createArchive } from "../../../src/storage/archive/store.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

/** As if more texts were there than the last uses are compared of. */
async function manyTexts(count: number) {
	const given = { namespace: "many", retention: defaultRetention, now: Date.now };
	const driver = createFilesDriver({ ...given, folder: await scratchFolder(), mostCompared: 0 });
	const archive = createArchive({ ...given, driver, redact: createRedact([]) });
	const texts = Array.from({ length: count }, (_, index) => `text ${index}`);
	const refs = await archive.put(texts.map((text) => ({ text, kind: "result" })));
	return { archive, refs };
}

it("scans very many texts by their references, and goes on after any of them", async () => {
	const { archive, refs } = await manyTexts(60);
	const all: { readonly ref: string; readonly place: string }[] = [];
	for await (const { ref, place, order } of archive.scan(100)) {
		expect(order).toBe("hash");
		all.push({ ref, place });
	}
	expect(all.map(({ ref }) => ref).sort()).toEqual(refs.toSorted());
	for (const at of [0, 30, 59]) {
		const rest: string[] = [];
		for await (const { ref } of archive.scan(100, all[at]?.place)) rest.push(ref);
		expect(rest).toEqual(all.slice(at + 1).map(({ ref }) => ref));
	}
	await archive.close();
});
