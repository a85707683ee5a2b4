import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { feedCli } from "../support/feed-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
let environment: { readonly PALIMPSEST_ARCHIVE: string };
beforeEach(async () => {
	folder = await scratchFolder();
	environment = { PALIMPSEST_ARCHIVE: join(folder, "archive") };
});
const count = await loadCounter("o200k_base");
const english = ["--set", "locale=en"];

/** Lines of a log, piece by piece; one in the middle tells of a failure. */
function* log(bytes: number): Generator<string> {
	let written = 0;
	let number = 0;
	for (let told = false; written < bytes; ) {
		let piece = "";
		while (piece.length < 65_536) {
			number += 1;
			piece += `line ${number}: request handled by worker ${number % 7} in ${number % 97} ms\n`;
		}
		if (!told && written > bytes / 2) {
			told = true;
			piece += "FATAL: the disk is on fire\n";
		}
		written += piece.length;
		yield piece;
	}
	yield "the last line";
}

describe("an output through a pipe", () => {
	it("of 68 MB needs no more memory than a small one, and its beginning is archived", async () => {
		const bytes = 68_000_000;
		const parameters = ["truncate", "--max-tokens", "500", ...english];
		const run = await feedCli(parameters, { folder, pieces: log(bytes), environment });
		expect(run.code).toBe(0);
		expect(run.mostMemory).toBeLessThan(256 * 1024 * 1024);
		expect(count(run.text)).toBeLessThanOrEqual(500);
		expect(count(run.text)).toBeGreaterThan(420);
		expect(run.text).toContain("\nFATAL: the disk is on fire\n");
		expect(run.text.endsWith("\nthe last line")).toBe(true);
		const [, ref = ""] = /Its first 67108864 bytes: .+ recall (\w+)\]/.exec(run.text) ?? [];
		const recalled = await runHere(["recall", ref, "--head", "1"], { folder, environment });
		expect(recalled.text).toBe("line 1: request handled by worker 1 in 1 ms\n");
	}, 240_000);

	it("too long to hold in memory is cut like a short one: head, marker, tail", async () => {
		const whole = [...log(9_000_000)].join("");
		const parameters = ["truncate", ...english];
		const { text, code } = await runHere(parameters, { folder, input: whole, environment });
		const [, ref = ""] = /, ref=(\w+)\]/.exec(text) ?? [];
		const marker = `\n\n... [${whole.length - 4_000} characters truncated, ref=${ref}] ...\n\n`;
		expect(text).toBe(whole.slice(0, 2_000) + marker + whole.slice(-2_000));
		expect(code).toBe(0);
		const recalled = await runHere(["recall", ref, "--all"], { folder, environment });
		expect(recalled.text === whole).toBe(true);
		await writeFile(join(folder, "build.log"), whole);
		expect((await runHere(["truncate", "build.log", ...english], { folder, environment })).text).toBe(text);
	});

	it("over the archive limit says so in the gap, and its marker promises no full original", async () => {
		const run = await feedCli(["truncate", ...english], { folder, pieces: log(68_000_000), environment });
		expect(run.text).toMatch(
			/\n\n\.\.\. \[\d+ characters truncated\] \.\.\.\n\n\[Its first 67108864 bytes: .+ recall \w+\]\n\n/,
		);
		expect(run.text.endsWith("\nthe last line")).toBe(true);
	});

	it("within the limit passes byte for byte, in tokens too, for any bytes", async () => {
		for (const input of [
			Buffer.from([0xff, 0xfe, 0x00, 0x80]),
			Buffer.from("caf\u00e9 \u{1F600}\r\n"),
			Buffer.from(""),
		]) {
			const { stdout, lines, code } = await runHere(["truncate", "--max-tokens", "20"], { folder, input });
			expect([stdout, lines, code]).toEqual([input, [], 0]);
		}
	});

	it("stays within the token limit including its notices, and truncating again changes nothing", async () => {
		const input = [...log(300_000)].join("");
		for (const most of [60, 2_000]) {
			const { text } = await runHere(["truncate", "--max-tokens", String(most), ...english], { folder, input });
			expect(count(text)).toBeLessThanOrEqual(most);
			expect(count(text)).toBeGreaterThan(most * 0.85);
			const again = await runHere(["truncate", "--max-tokens", String(most), ...english], { folder, input: text });
			expect(again.text).toBe(text);
		}
	});

	it("refuses two limits", async () => {
		const { code, lines } = await runHere(["truncate", "--max-tokens", "9", "--max-chars", "9"], {
			folder,
			input: "x",
		});
		expect([code, lines[0]]).toEqual([2, expect.stringMatching(/--max-tokens <count>; got both/)]);
	});
});

describe("when the archive is not writable", () => {
	const unwritable = async () => {
		const where = join(folder, "readonly");
		await mkdir(where);
		await writeFile(join(where, "default"), "a file where a folder should be");
		await chmod(where, 0o500);
		return { PALIMPSEST_ARCHIVE: where };
	};

	it("output held in memory is not cut, and the error gives the reason", async () => {
		const input = "x ".repeat(60_000);
		const { code, text, lines } = await runHere(["truncate"], { folder, input, environment: await unwritable() });
		expect([code, text]).toEqual([1, ""]);
		expect(lines).toEqual([expect.stringMatching(/^palimpsest: \[archive_unavailable\]/)]);
	});

	it("output already written is shown without a reference, with the error and its exit code", async () => {
		const pieces = log(9_000_000);
		const run = await feedCli(["truncate", ...english], { folder, pieces, environment: await unwritable() });
		expect(run.code).toBe(1);
		expect(run.text).toMatch(/\n\n\.\.\. \[\d+ characters truncated\] \.\.\.\n\n/);
		expect(run.stderr).toContain("[archive_unavailable]");
	});
});
