import { describe, expect, it } from "vitest";
import { failureSign, isTotalLine } from "../../../src/engine/truncation/failure-signs.ts";
import { shorten } from "./shorten.ts";

const times = (count: number, line: (index: number) => string) =>
	Array.from({ length: count }, (_, index) => line(index));

describe("the frames of a progress bar", () => {
	const bar = (name: string) =>
		`${times(400, (index) => `${name}: ${index % 100}% (${index}/400), ${index}.5 MiB`).join("\r")}\r${name}: 100% (400/400), done.`;

	it("collapse to the last", () => {
		const text = ["Cloning", ...times(30, (index) => bar(`Receiving part ${index}`)), "fatal: index-pack died"].join(
			"\n",
		);
		for (const max of [1_500, 4_000, 9_000]) {
			const shown = shorten(text, max, { ref: undefined }).text;
			expect(shown.match(/\(\d+\/400\), \d/g)?.length ?? 0).toBe(0);
			expect(shown).toContain("Receiving part 0: 100% (400/400), done.");
			expect(shown).toContain("fatal: index-pack died");
		}
	});

	it("stay if they report a failure", () => {
		const text = times(300, (index) => (index === 140 ? "fatal: disk is full\r" : `step: ${index}%\r`)).join("");
		expect(shorten(`${text}\nend`, 700, { ref: undefined }).text).toContain("fatal: disk is full");
	});
});

it("a text in UTF-16 that was read as UTF-8 is text", () => {
	const text = times(900, (index) =>
		index === 500 ? "app.cs(4,9): error CS0103: zorp" : `  Restored lib${index} in ${index} ms.`,
	).join("\r\n");
	for (const mark of ["", "\ufffd\ufffd"]) {
		const shown = shorten(`${mark}${[...text].join("\0")}\0`, 3_000, { ref: undefined }).text;
		expect(shown).toContain("error CS0103: zorp");
		expect(shown).not.toContain("\0");
	}
});

it("a log keeps all its failures before lines that only look like totals", () => {
	const lines = times(1_500, (index) => {
		if (index % 100 === 50) return `FAIL  suite${index}.test.ts > suite ${index} > does what case ${index} says`;
		if (index % 100 === 70) return `AssertionError: case ${index} expected false to be truthy`;
		if (index % 100 === 20) return `Result (first 500 chars): {"at":"${index} of ${index} ${"x".repeat(240)}"}`;
		return `  ran helper ${index} of the suite, took ${index} units`;
	});
	const shown = shorten(lines.join("\n"), 2_800, { ref: undefined, strategy: "log" }).text.split("\n");
	const failures = lines.filter((line) => /^(?:FAIL|AssertionError)/.test(line));
	expect(failures.filter((line) => !shown.includes(line))).toEqual([]);
});

describe("the totals of a run", () => {
	const totals = [
		"OK (596 tests, 1752 assertions)",
		"Tests:       1 skipped, 45 passed, 46 total",
		" Tests  812 passed (812)",
		"===== 1400 passed, 2 skipped in 60.12s =====",
		"test result: ok. 112 passed; 0 failed; finished in 0.42s",
		"Apply complete! Resources: 3 added, 1 changed, 0 destroyed.",
		"46 examples, 0 failures",
		"12 scenarios (12 passed)",
		"Executed 40 out of 40 tests: 40 tests pass.",
		"100% tests passed, 0 tests failed out of 31",
		"Everything is Ok",
	];

	it.each(totals)("stay between long noise: %s", (line) => {
		const text = [
			...times(900, (index) => `Notice:  Undefined index: k${index} in /app/cache/srv${index}.php on line ${index}`),
			line,
			...times(900, (index) => `  src/Module${index}/Handler${index}.php   ${index % 101}.00%`),
		].join("\n");
		for (const max of [1_500, 3_000]) expect(shorten(text, max, { ref: undefined }).text).toContain(line);
	});

	it.each([
		"Tests are good for you",
		"we ran 12 checks on this",
		"OK then",
		"const passed = 3;",
		"Result (first 500 chars): of 3 things",
		"Summary of the 12 parts",
	])("are not in other lines: %s", (line) => {
		expect(isTotalLine(line)).toBe(false);
	});
});

it.each([
	"  inflating: a/b.txt  bad CRC 5d7b1e22  (should be 1a2b3c4d)",
	"  End-of-central-directory signature not found.  Either this file is not a zipfile",
	"error:  invalid compressed data to inflate",
	"unzip:  cannot find or open x.zip, x.zip.zip or x.zip.ZIP.",
	"   skipping: a.bin  unsupported compression method 99",
	"tar: This does not look like a tar archive",
	"tar: Unexpected EOF in archive",
	"tar: Skipping to next header",
	"bsdtar: Error opening archive: Unrecognized archive format",
	"a/b.txt: Truncated input file (needed 512 bytes, only 100 available)",
	"ERROR: Data Error : a.txt",
	"Can not open the file as [7z] archive",
	"a.txt   - checksum error",
	"Corrupt file or wrong password.",
	"Unexpected end of archive",
	"cpio: premature end of archive",
	"gzip: a.gz: invalid compressed data--crc error",
	"bzip2: Data integrity error when decompressing.",
	"xz: a.xz: Compressed data is corrupt",
	"a.zst : Decoding error (36) : Restored data doesn't match checksum",
])("an archiver reports a failure: %s", (line) => {
	expect(failureSign(line)).toBe("sure");
	const text = times(2_000, (index) =>
		index === 1_300 ? line : `  inflating: data/part-${index}/file-${index}.txt`,
	).join("\n");
	expect(shorten(text, 1_600, { ref: undefined }).text).toContain(line.trim());
});

it.each([
	"	FAILED,",
	'  FAILED = "failed",',
	'	FAILED: "failed",',
	"export const FAILED = 'failed';",
	"	case FAILED:",
	"	if (state === FAILED) {",
	"	return Status.FAILED;",
	"	state = FAILED;",
	"#define FAILED -1",
])("an identifier of code is not a failure: %s", (line) => {
	expect(failureSign(line)).not.toBe("sure");
});

it.each([
	"> Task :app:compileJava FAILED",
	"FAILED (errors=1)",
	"test a::b ... FAILED",
	"12,job12,FAILED,disk",
	"FAILED: 3 tests",
	"[FAILED] Failed to start",
])("a word of a report is a failure: %s", (line) => {
	expect(failureSign(line)).toBe("sure");
});
