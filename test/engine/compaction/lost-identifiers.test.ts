import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { lostIdentifiers, textsOfMessages } from "../../../src/engine/compaction/lost-identifiers.ts";
import { findIdentifiers } from "../../../src/engine/masking/identifiers.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const lost = (texts: readonly string[], summary: string, limit?: number) =>
	lostIdentifiers({ texts, summary, ...(limit === undefined ? {} : { limit }) }).lost.map(({ text }) => text);

describe("identifiers", () => {
	it.each([
		["see https://example.com/a?b=c#d.", "url", "https://example.com/a?b=c#d"],
		["open src/engine/groups.ts:42:7, please", "path", "src/engine/groups.ts"],
		["in /etc/passwd", "path", "/etc/passwd"],
		["(../lib/x_test.go)", "path", "../lib/x_test.go"],
		["C:\\Users\\me\\notes.txt", "path", "C:\\Users\\me\\notes.txt"],
		["in package.json there", "path", "package.json"],
		["the colour themeOf.fg is", "name", "themeOf.fg"],
		["commit 71e72fb now", "hash", "71e72fb"],
		["id 123e4567-e89b-12d3-a456-426614174000", "hash", "123e4567-e89b-12d3-a456-426614174000"],
		["ENOENT: no such file", "error_code", "ENOENT"],
		["error TS2345:", "error_code", "TS2345"],
		["ERR_MODULE_NOT_FOUND", "error_code", "ERR_MODULE_NOT_FOUND"],
		["JIRA-1234 is open", "error_code", "JIRA-1234"],
		["call groupMessages() first", "name", "groupMessages"],
		["a max_tokens of", "name", "max_tokens"],
		["class PalimpsestError extends", "name", "PalimpsestError"],
		["fs.readFileSync(x)", "name", "fs.readFileSync"],
		["order 4711002 shipped", "number", "4711002"],
		["issue #33245", "number", "#33245"],
	] as const)("%s has a %s", (text, kind, identifier) => {
		expect(findIdentifiers(text)).toContainEqual({ text: identifier, kind });
	});

	it.each([
		"The quick brown fox, e.g. this one, and/or that; 42 times in 2024.",
		"It works. Really... yes/no? 50% of 1,000 - done!",
		"deadbeef facade 2024/01/02 12:34:56",
		`${"a".repeat(5000)}_${"b".repeat(5000)}`,
		'{"file_path": 1, "newString" : [], "x": "{\\"inner_key\\":2}"}',
		"",
	])("%s has none", (text) => {
		expect(findIdentifiers(text)).toEqual([]);
	});
});

describe("missing identifiers", () => {
	it("are those absent from the summary", () => {
		const texts = ["src/a/main.ts calls parseOrder", "ENOENT for order 4711002"];
		expect(lost(texts, "In src/a/main.ts, parseOrder fails with ENOENT for 4711002.")).toEqual([]);
		expect(lost(texts, "Something fails.").toSorted()).toEqual(["4711002", "ENOENT", "parseOrder", "src/a/main.ts"]);
	});

	it("a path counts as present by its last two parts", () => {
		expect(lost(["/home/me/project/src/main.ts"], "src/main.ts")).toEqual([]);
		expect(lost(["C:\\project\\src\\main.ts"], "src/main.ts")).toEqual([]);
		expect(lost(["/home/me/project/src/main.ts"], "main.ts")).toEqual(["/home/me/project/src/main.ts"]);
	});

	it("an address counts as present without the slash at its end", () => {
		expect(lost(["see https://example.com/some/page/"], "read https://example.com/some/page.")).toEqual([]);
		expect(lost(["see https://example.com/some/page/"], "read https://example.com/some")).toHaveLength(1);
	});

	it("a hash counts as present by its first seven characters, a name only as a whole word", () => {
		expect(lost(["71e72fb0a1b2c3d4e5f6"], "commit 71e72fb")).toEqual([]);
		expect(lost(["71e72fb0a1b2c3d4e5f6"], "commit 71e72f")).toEqual(["71e72fb0a1b2c3d4e5f6"]);
		expect(lost(["name_1 and parseOrder"], "name_12, reparseOrder")).toEqual(["name_1", "parseOrder"]);
	});

	it.each([
		["file_path", '{"file_path": 1}', true],
		["file_path", '{"xfile_path": 1}', false],
		["file_path", '{"file_paths": 1}', false],
		["file_path", '{"xfile_path": 1, "file_path": 2}', true],
		["file_path", "file_path", true],
		["/srv/data/", "see srv/data", true],
		["/srv/data/", "see data", false],
		["package.json", "in my package.json", true],
		["/a/b/src/main.ts", "in src\\main.ts", true],
		["https://example.com/a/src/main.ts", "in src/main.ts", false],
		["https://example.com/some/page/x", "see https://example.com/somepagex", false],
		["71e72fb0a1b2c3d4e5f6", "commit 71e72fb0", false],
		["71e72fb", "commit 71e72fb0", false],
		["name_12", "name_1", false],
		["parse_order_by_date", "parse_o", false],
		["a_dir.b_name.c_name", "b_name.c_name", false],
	])("%s is kept by %s: %s", (identifier, summary, isKept) => {
		expect(findIdentifiers(identifier).map(({ text }) => text)).toEqual([identifier]);
		expect(lost([identifier], summary)).toEqual(isKept ? [] : [identifier]);
	});

	it("are sorted by how many texts contain them and how late, each once", () => {
		const texts = ["oldOnce everyWhere", "everyWhere everyWhere", "everyWhere", "newOnce everyWhere"];
		expect(lost(texts, "")).toEqual(["everyWhere", "newOnce", "oldOnce"]);
		expect(lostIdentifiers({ texts, summary: "" }).lost[0]).toEqual({ text: "everyWhere", kind: "name", texts: 4 });
	});

	it("count for more the more of the texts hold them, up to eight, and the later the last one is", () => {
		const texts = (count: number, places: Readonly<Record<string, readonly number[]>>) =>
			Array.from({ length: count }, (_, at) =>
				Object.keys(places)
					.filter((name) => places[name]?.includes(at))
					.join(" "),
			);
		const upTo = (end: number, start = 0) => Array.from({ length: end - start }, (_, at) => start + at);
		expect(lost(texts(10, { in_nine: upTo(9), in_eight: upTo(10, 2) }), "")).toEqual(["in_eight", "in_nine"]);
		expect(lost(texts(10, { in_eight: upTo(9, 1), in_seven: upTo(9, 2) }), "")).toEqual(["in_eight", "in_seven"]);
		expect(lost(texts(11, { in_half: [2, 3, 4, 5], at_end: [10], in_many: upTo(8) }), "")).toEqual([
			"in_many",
			"at_end",
			"in_half",
		]);
		expect(lost(texts(4, { in_three: [0, 1, 2], at_end: [3] }), "")).toEqual(["at_end", "in_three"]);
		expect(lost(["a_first", "b_last"], "")).toEqual(["b_last", "a_first"]);
		expect(lost(["c_name a_name b_name"], "")).toEqual(["a_name", "b_name", "c_name"]);
		expect(lost(["", "c_name b_name d_name a_name"], "")).toEqual(["a_name", "b_name", "c_name", "d_name"]);
	});

	it("are listed up to a limit, with their total", () => {
		const texts = Array.from({ length: 100 }, (_, index) => `name_${index}`);
		const found = lostIdentifiers({ texts, summary: "name_99", limit: 5 });
		expect(found.lost.map(({ text }) => text)).toEqual(["name_98", "name_97", "name_96", "name_95", "name_94"]);
		expect([found.found, found.lostCount]).toEqual([100, 99]);
		expect(lost(texts, "").length).toBe(20);
	});

	it("are searched for in texts and results, not in reasoning", () => {
		const thinking = [{ path: [], text: "secretThought", bound: true }];
		const transcript = transcriptOf(
			messageOf({ counted: ["secretThought", "saidText"], thinking }),
			messageOf({ role: "tool", results: [resultOf("a", "resultText")] }),
		);
		expect(textsOfMessages(transcript, [0, 1])).toEqual(["saidText", "resultText"]);
		expect(textsOfMessages(transcript, [1, 2])).toEqual(["resultText"]);
	});

	test.prop([fc.array(fc.string({ maxLength: 60 }), { maxLength: 8 })])(
		"are none when the summary equals the texts",
		(texts) => {
			expect(lost(texts, texts.join("\n"))).toEqual([]);
		},
	);
});
