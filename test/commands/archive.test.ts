import { readdir, truncate, utimes } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const messages = agentConversation(10);

let folder: string;
const run = (parameters: string[], input = "") =>
	runHere(parameters, { folder, input, environment: { PALIMPSEST_ARCHIVE: join(folder, "archive") } });
const json = async (...parameters: string[]) => JSON.parse((await run(parameters)).text);

beforeEach(async () => {
	folder = await scratchFolder();
	await run(["mask", "-"], JSON.stringify(messages));
});

describe("archive", () => {
	it("stats prints the location and the contents", async () => {
		const bytes = Buffer.byteLength(`${messages[3]?.content}${messages[5]?.content}`);
		expect(await json("archive", "stats")).toEqual({
			namespace: "default",
			location: join(folder, "archive"),
			originals: 2,
			bytes,
			oldest_use: expect.stringMatching(/^\d{4}-.*Z$/),
		});
		const other = await json("archive", "stats", "--namespace", "other");
		expect(other).toMatchObject({ namespace: "other", originals: 0, bytes: 0, oldest_use: null });
	});

	it("export prints every original with its text, and reports unreadable ones", async () => {
		const whole = await run(["archive", "export"]);
		const rows = whole.text
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		expect(rows.map(({ text }) => text).sort()).toEqual([messages[3]?.content, messages[5]?.content].sort());
		for (const row of rows) expect(row).toMatchObject({ kind: "result", tool_name: "read_file", redactions: 0 });
		expect(whole).toMatchObject({ code: 0, lines: [] });
		await damageOne();
		const rest = await run(["archive", "export"]);
		expect(rest.text.trim().split("\n")).toHaveLength(1);
		expect(rest).toMatchObject({ code: 1, lines: [expect.stringContaining("1 could not be read")] });
	});

	it("sweep deletes expired originals, but none of the last hour", async () => {
		expect(await json("archive", "sweep", "--set", "archive.max_bytes=1")).toMatchObject({ removed: 0, kept: 2 });
		const longAgo = new Date(Date.now() - 3 * 24 * 3_600_000);
		for (const file of await files()) await utimes(file, longAgo, longAgo);
		const days = (count: number) => json("archive", "sweep", "--set", `archive.max_age_days=${count}`);
		expect(await days(4)).toMatchObject({ removed: 0, kept: 2 });
		expect(await days(2)).toMatchObject({ removed: 2, kept: 0, kept_bytes: 0 });
		expect(await json("archive", "stats")).toMatchObject({ originals: 0 });
	});

	it("clear deletes all originals of one namespace only", async () => {
		await run(["mask", "-", "--namespace", "other"], JSON.stringify(messages));
		expect((await run(["archive", "clear"])).code).toBe(2);
		expect(await json("archive", "stats")).toMatchObject({ originals: 2 });
		expect(await json("archive", "clear", "--yes")).toEqual({ removed: 2 });
		expect(await json("archive", "stats")).toMatchObject({ originals: 0 });
		expect(await json("archive", "stats", "--namespace", "other")).toMatchObject({ originals: 2 });
	});

	it.each(["stats", "sweep", "export"])("%s requires an archive", async (name) => {
		const { code, lines } = await run(["archive", name, "--archive", "none"]);
		expect({ code, lines }).toEqual({ code: 1, lines: [expect.stringContaining("[invalid_argument]")] });
	});
});

async function files(): Promise<string[]> {
	const found = await readdir(join(folder, "archive"), { recursive: true, withFileTypes: true });
	return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** Cuts one text short. */
async function damageOne(): Promise<void> {
	const texts = (await files()).filter((file) => /[\\/][0-9a-f]{64}$/.test(file));
	expect(texts).toHaveLength(2);
	await truncate(String(texts[0]), 100);
}
