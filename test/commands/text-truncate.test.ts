import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { runHere } from "../support/run-here.ts";
import { textOfLength } from "../support/sample-text.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});

it("passes a short output byte for byte: no line break added, for any bytes", async () => {
	const inputs = [
		"",
		"no line break",
		"one\r\ntwo\n",
		"\uFEFFwith a byte order mark",
		"caf\u00e9 \u{1F600}",
		Buffer.from([0xff, 0xfe, 0x00, 0x80]),
	];
	for (const input of inputs) {
		const { code, stdout, lines } = await runHere(["truncate", "-"], { folder, input });
		expect(stdout).toEqual(Buffer.from(input as string));
		expect([code, lines]).toEqual([0, []]);
	}
	await writeFile(join(folder, "log.txt"), "from a file");
	expect((await runHere(["truncate", "log.txt"], { folder })).text).toBe("from a file");
});

it("cuts a long output to head and tail, and shows people a message about it", async () => {
	const input = textOfLength(50_001);
	const whole = await runHere(["truncate", "-"], { folder, input: input.slice(1) });
	expect(whole.text).toBe(input.slice(1));
	const { code, text, lines } = await runHere(["truncate", "-"], { folder, input });
	expect(text).toBe(`${input.slice(0, 2_000)}\n\n[... 46001 caractères omis ...]\n\n${input.slice(-2_000)}`);
	expect([code, lines]).toEqual([0, ["palimpsest warning: Truncated a text (50001 → 4035 chars)"]]);
});

it.each([
	["fr_FR.UTF-8", [], "caractères omis"],
	["zh_CN.UTF-8", [], "个字符"],
	["en_GB.UTF-8", [], "characters truncated"],
	["es_ES.UTF-8", [], "characters truncated"],
	["en_GB.UTF-8", ["--set", "preset=observation-masking"], "caractères omis"],
	["fr_FR.UTF-8", ["--set", "locale=zh"], "个字符"],
])("words the marker for a reader of %s with %j", async (LC_ALL, settings, words) => {
	const parameters = ["truncate", "-", "--max-chars", "500", ...settings];
	const { text } = await runHere(parameters, { folder, input: textOfLength(900), environment: { LC_ALL } });
	expect(text).toContain(words);
});

it("reads limit and policy from the command line", async () => {
	const parameters = ["truncate", "-", "--max-chars", "60", "--set", "locale=en", "--set", "truncate.head_chars=3"];
	const { text } = await runHere([...parameters, "--set", "truncate.tail_chars=2"], {
		folder,
		input: textOfLength(900),
	});
	expect(text).toBe(`0,1\n\n... [895 characters truncated] ...\n\n${textOfLength(900).slice(-2)}`);
});

it.each([
	["--max-chars", "10", "head_tail", 900],
	["--max-chars", "0", "head_tail", 900],
	["--max-chars", "10", "auto", 900],
	["--max-tokens", "3", "auto", 900],
	["--max-chars", "10", "head_tail", 9_000_000],
	["--max-chars", "10", "auto", 9_000_000],
])(
	"refuses %s %s (%s), which leaves no room for a marker, and names the minimum (%# of %i)",
	async (option, given, strategy, chars) => {
		const input = "one line of a log that goes on\n".repeat(chars / 30);
		const cut = (limit: string) =>
			runHere(["truncate", "-", option, limit, "--strategy", strategy, "--archive", "none"], { folder, input });
		const { code, text, lines } = await cut(given);
		expect([code, text]).toEqual([1, ""]);
		const [, least = ""] =
			new RegExp(
				`\\[invalid_argument\\] Expected ${option} .* smallest that works here is (\\d+); got ${given}\\.`,
			).exec(lines.join("\n")) ?? [];
		const marked = await cut(least);
		expect([marked.code, marked.text]).toEqual([0, expect.stringMatching(/omis/)]);
		expect((await cut(`${Number(least) - 1}`)).code).toBe(1);
	},
);

it("passes a short output even where the limit leaves no room for a marker", async () => {
	expect((await runHere(["truncate", "-", "--max-chars", "10"], { folder, input: "short" })).text).toBe("short");
});
