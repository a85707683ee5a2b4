import { describe, expect, it } from "vitest";
import { searchOriginals, writeSearch } from "../../src/operations/search-originals.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
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

const written = (some: Awaited<ReturnType<typeof found>>) =>
	writeSearch(some, { how: "Read one by its ref.", goOn: (after) => `after ${after}` });

/** A clock that shows the first time twice, then the second. */
function once(first: number, then: number): () => number {
	let asked = 0;
	return () => {
		asked += 1;
		return asked <= 1 ? first : then;
	};
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

	it("goes on where it stopped for want of time or tokens, until every original was searched once", async () => {
		const texts = Array.from({ length: 30 }, (_, index) => `needle ${index}`);
		const archive = await archiveOf(texts);
		let time = 0;
		const elapsed = () => {
			time += 100;
			return time;
		};
		for (const more of [{ elapsed }, { maxTokens: 150 }]) {
			const lines: string[] = [];
			let [after, searches, all]: [string | undefined, number, number] = [undefined, 0, 0];
			do {
				const { originals, next, searched } = await found(archive, "needle", { ...more, after });
				all = searched;
				lines.push(...originals.flatMap((one) => one.lines.map(({ text }) => text)));
				after = next ?? undefined;
				searches += 1;
			} while (after !== undefined && searches < 30);
			expect(searches).toBeGreaterThan(2);
			expect(lines).toEqual(texts.toReversed());
			// The last page tells of all pages.
			expect(all).toBe(texts.length);
		}
		await expect(found(archive, "needle", { after: "nowhere" })).rejects.toMatchObject({ code: "invalid_argument" });
	});

	it("begins the next search with a text that it did not read to its end", async () => {
		const long = `${"line\n".repeat(3_000)}ERROR 4711`;
		const archive = await archiveOf([long, "small one"]);
		// The time is over once the second text is read.
		let asked = 0;
		const elapsed = () => {
			asked += 1;
			return asked <= 2 ? 0 : 10_000;
		};
		const first = await found(archive, "ERROR \\d+", { regex: true, elapsed });
		expect(first).toMatchObject({ searched: 1, stopped: "time", originals: [] });
		const then = await found(archive, "ERROR \\d+", { regex: true, after: first.next });
		expect(then.originals[0]?.lines[0]?.text).toBe("ERROR 4711");
	});

	it("gets further where one original alone is over the tokens", async () => {
		const archive = await archiveOf([`needle ${"word ".repeat(100)}`, "needle"]);
		const first = await found(archive, "needle", { maxTokens: 10 });
		const then = await found(archive, "needle", { maxTokens: 10, after: first.next });
		expect([first, then].map(({ originals }) => originals.length)).toEqual([1, 1]);
		expect(then.next).toBeNull();
	});

	it("never says that nothing is there where something was not searched", async () => {
		const archive = await archiveOf(Array.from({ length: 5 }, (_, index) => `text ${index}`));
		const some = await found(archive, "nowhere", { elapsed: once(0, 10_000) });
		expect(some).toMatchObject({ searched: 1, stopped: "time" });
		expect(written(some)).toBe(
			`Nothing was found yet.\nNot all were searched, but 1 original, the last used first. Go on: after ${some.next}`,
		);
	});

	it.each([
		["composed in decomposed", "Pr\u00fcfung", "./Pru\u0308fung.txt"],
		["decomposed in composed", "caffe\u0300", "un caff\u00e8 corretto"],
		["Hangul syllables in their letters", "\ud559\uc810", "\ud559\uc810".normalize("NFD")],
		["letters of Hangul in syllables", "\ud559\uc810".normalize("NFD"), "\ud559\uc810"],
		["capital letters of the other form", "\u00fcber", "U\u0308BER"],
		["a plain letter under a mark", "caffe", "caffe\u0300"],
		["several marks in another order", "a\u0323\u0302b", "a\u0302\u0323b"],
		["a character that is composed to another one", "\u212bngstr\u00f6m", "\u00c5ngstro\u0308m"],
	])("finds %s, by words and by pattern, and shows the text as it is", async (name, query, text) => {
		const before = "\u0130e\u0301".repeat(400);
		const archive = await archiveOf([`first\n${before} ${text} ${"y".repeat(500)}`]);
		const isPattern = name !== "capital letters of the other form";
		for (const regex of isPattern ? [false, true] : [false]) {
			const [line] = (await found(archive, query, { regex })).originals[0]?.lines ?? [];
			expect(line?.line).toBe(2);
			expect(line?.text).toContain(` ${text} `);
		}
	});

	it.each([
		["full-width letters", "abc123", "\uff21\uff22\uff23\uff11\uff12\uff13"],
		["plain letters by full-width ones", "\uff21\uff22\uff23", "ABC"],
		["a ligature", "file", "\ufb01le"],
		["a sharp s by two letters", "strasse", "Hauptstra\u00dfe"],
		["two letters by a sharp s", "stra\u00dfe", "HAUPTSTRASSE"],
		["a dotted capital", "istanbul", "\u0130stanbul"],
		["a final sigma", "\u03bf\u03b4\u03bf\u03c3", "\u03bf\u03b4\u03bf\u03c2"],
		["a curly quote", "don't", "don\u2019t"],
		["a straight quote", "don\u2019t", "don't"],
		["a dash", "dec-54", "DEC\u201354"],
		["letters around what nobody sees", "donaudampf", "Donau\u00addam\u200bpf"],
		["letters that JSON escapes", "gr\u00f6\u00dfer", '{"t":"gr\\u00f6\\u00DFer"}'],
	])("finds %s by words", async (_, query, text) => {
		const archive = await archiveOf([`first\n${"-".repeat(900)} ${text} ${"y".repeat(500)}`]);
		const [line] = (await found(archive, query)).originals[0]?.lines ?? [];
		expect(line?.text).toContain(text);
	});

	it("is written with the reference, tool, age, size and lines of each original, and how it ended", async () => {
		const archive = await archiveOf(["port 80\nother\nport 81"]);
		expect(written(await found(archive, "port"))).toMatch(
			/^Read one by its ref\.\n\w{12} Original result of "read_file", \d+ days old, 21 characters, 2 matching lines:\n {2}1: port 80\n {2}3: port 81\nSearched all of 1 original\.$/,
		);
		expect(written(await found(archive, "nothing"))).toBe("No original was found.\nSearched all of 1 original.");
	});
});
