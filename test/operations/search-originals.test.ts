import { describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import { searchOriginals, writeSearch } from "../../src/operations/search-originals.ts";
import { policyOf } from "../support/policy-of.ts";

const policy = policyOf({});

let clock = 1_000_000;

async function archiveOf(texts: readonly string[]): Promise<Archive> {
	const archive = (await openArchive({ where: "memory", now: () => clock })) as Archive;
	for (const [index, text] of texts.entries()) {
		clock += 1_000;
		await archive.put([{ text, kind: "result", toolCallId: `call_${index}`, toolName: "read_file" }]);
	}
	return archive;
}

async function found(archive: Archive, query: string, more: object = {}) {
	return searchOriginals({ archive, policy, query, ...more });
}

describe("searchOriginals", () => {
	it("finds originals that hold all words in any case, the last used first", async () => {
		const archive = await archiveOf(["the Port of a server", "a server", "port 80\nother\nSERVER up", "none"]);
		const { originals, searched, stopped } = await found(archive, "server PORT");
		expect(originals.map(({ tool_call_id }) => tool_call_id)).toEqual(["call_2", "call_0"]);
		expect(originals[0]?.lines).toEqual([
			{ line: 1, text: "port 80" },
			{ line: 3, text: "SERVER up" },
		]);
		expect([searched, stopped]).toEqual([4, null]);
	});

	it("shows the three lines with the most words, in their order", async () => {
		const archive = await archiveOf(["alpha\nalpha beta\nx\nbeta\nbeta alpha\nalpha\nalpha and beta"]);
		const { originals } = await found(archive, "alpha beta");
		expect(originals[0]).toMatchObject({
			matching_lines: 6,
			lines: [
				{ line: 2, text: "alpha beta" },
				{ line: 5, text: "beta alpha" },
				{ line: 7, text: "alpha and beta" },
			],
		});
	});

	it("takes words as text, and patterns only with regex", async () => {
		const archive = await archiveOf(["a.c and (b", "abc"]);
		expect((await found(archive, "a.c")).originals).toHaveLength(1);
		expect((await found(archive, "(b")).originals).toHaveLength(1);
		expect((await found(archive, "a.c", { regex: true })).originals).toHaveLength(2);
		await expect(found(archive, "(b", { regex: true })).rejects.toMatchObject({ code: "invalid_argument" });
	});

	it("shows the text around a match in a long line", async () => {
		const archive = await archiveOf([`${"x".repeat(5_000)} needle ${"y".repeat(5_000)}`]);
		const [line] = (await found(archive, "needle")).originals[0]?.lines ?? [];
		expect(line?.text).toMatch(/^…x+ needle y+…$/);
		expect(line?.text.length).toBeLessThan(210);
	});

	it("says that more are left where the tokens end", async () => {
		const archive = await archiveOf(Array.from({ length: 50 }, (_, index) => `needle number ${index}`));
		const some = await found(archive, "needle", { maxTokens: 100 });
		expect(some.stopped).toBe("tokens");
		expect(some.originals.length).toBeGreaterThan(1);
		expect(some.originals.length).toBeLessThan(20);
		expect(some.originals[0]?.lines[0]?.text).toBe("needle number 49");
	});

	it("stops after its time and says how many originals it has searched", async () => {
		const archive = await archiveOf(Array.from({ length: 10 }, (_, index) => `needle ${index}`));
		let time = 0;
		const elapsed = () => {
			time += 150;
			return time;
		};
		const { searched, stopped, originals } = await found(archive, "needle", { elapsed });
		expect(stopped).toBe("time");
		expect(searched).toBeGreaterThan(2);
		expect(searched).toBeLessThan(10);
		expect(originals).toHaveLength(searched);
	});

	it("marks no original as used", async () => {
		const archive = await archiveOf(["needle"]);
		const before = (await archive.stats()).oldestUse;
		clock += 50_000;
		await found(archive, "needle");
		expect((await archive.stats()).oldestUse).toBe(before);
	});

	it("leaves records for restoring out", async () => {
		const archive = await archiveOf([]);
		await archive.put([{ text: '{"needle":1}', kind: "places" }]);
		expect((await found(archive, "needle")).originals).toEqual([]);
	});

	it.each([
		["an empty query", " "],
		["a long query", "x".repeat(1_001)],
		["many words", "a b c d e f g h i j k l m n o p q r s t u"],
	])("refuses %s", async (_, query) => {
		await expect(found(await archiveOf(["a"]), query)).rejects.toMatchObject({ code: "invalid_argument" });
	});

	it("is written with the reference, tool, age, size and lines of each original, and how it ended", async () => {
		const archive = await archiveOf(["port 80\nother\nport 81"]);
		expect(writeSearch(await found(archive, "port"), "Read one by its ref.")).toMatch(
			/^Read one by its ref\.\n\w{12} Original result of "read_file", \d+ days old, 21 characters, 2 matching lines:\n {2}1: port 80\n {2}3: port 81\nSearched all of 1 original\.$/,
		);
		expect(writeSearch(await found(archive, "nothing"), "")).toBe(
			"No original was found.\nSearched all of 1 original.",
		);
	});
});
