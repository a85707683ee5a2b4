import { beforeAll, describe, expect, it } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { textLibraries } from "../../../src/operations/text-libraries.ts";
import { isWhole } from "../../support/breadth.ts";
import { shorten, shortenPieces } from "./shorten.ts";

const lineCount = 3_000;
const budgets = [500, 1_000, 2_000, 8_000];
const places = [0.1, 0.5, 2 / 3, 0.9];
const focus = "how does the parser read step 77 of the settings";
const range = (count: number) => Array.from({ length: count }, (_, index) => index);

const names =
	"alpha beta gamma delta epsilon zeta theta iota kappa lambda sigma omega orion vega lyra draco hydra corvus pavo norma".split(
		" ",
	);
/** A name that differs from line to line, and more so with another `turn`. */
const name = (index: number, turn = 1) => names[(index * 7 + turn * 11 + Math.floor(index / 20) * turn) % names.length];

/** A style of progress lines, and the one failure that stands in it: never one of the same tool. */
interface Style {
	readonly line: (index: number) => string;
	readonly failure: string;
}

const styles: Readonly<Record<string, Style>> = {
	"modules compiled": {
		line: (index) => `compiling module ${index} of 3000 ok`,
		failure: "foo.c:33:5: error: undeclared identifier bar",
	},
	"files copied": {
		line: (index) => `copying a${index} -> b${index}`,
		failure: "ORA-00942: table or view does not exist",
	},
	"npm info": { line: (index) => `npm info run step ${index}`, failure: "thread 'main' panicked at src/main.rs:4:5:" },
	"assets uploaded": { line: (index) => `Uploaded asset ${index}`, failure: "make: *** [Makefile:12: all] Error 2" },
	"files of other names": {
		line: (index) => `copying ${name(index)}/${name(index, 2)}.ts -> dist/${name(index, 3)}-${index}.js`,
		failure: "E   assert 1 == 2",
	},
	"counts of no errors": {
		line: (index) => `module ${name(index)}: 0 errors, 0 warnings (${index})`,
		failure: "src/a.ts(3,5): error TS2304: Cannot find name 'x'.",
	},
	"no errors found": {
		line: (index) => `no errors found in src/${name(index)}/${name(index, 4)}${index}.c`,
		failure: "./x.go:3:5: undefined: y",
	},
	"error handling modules": {
		line: (index) => `error handling module ${name(index)} ${index} compiled ok`,
		failure: "/usr/bin/ld: main.o: undefined reference to `foo'",
	},
	"error handling modules, without ok": {
		line: (index) => `error handling module ${name(index)} ${index} compiled`,
		failure: "Segmentation fault (core dumped)",
	},
	"retries that succeed": {
		line: (index) => `retrying failed request ${index} to ${name(index)}: succeeded`,
		failure: "│ Error: Invalid reference",
	},
	"tests of error paths that pass": {
		line: (index) => `tests/test_${name(index)}.py::test_error_${index} PASSED`,
		failure: "fatal: [host1]: UNREACHABLE! => {}",
	},
	"errors that are none": {
		line: (index) => `error: ${name(index)}${index} was looked at and found to be harmless`,
		failure: "ERR_PNPM_NO_MATCHING_VERSION  No matching version found for left-pad@99",
	},
	"lines of JSON": {
		line: (index) => JSON.stringify({ level: "info", message: `item ${index} of ${name(index)}`, errors: 0 }),
		failure: '{"level":"error","message":"could not open the store"}',
	},
	"lines of JSON with one that is none": {
		line: (index) => JSON.stringify({ id: index, name: name(index), ok: true }),
		failure: 'Exception in thread "main" java.lang.IllegalStateException: bad port',
	},
	"rows with commas": {
		line: (index) => `${index},${name(index)},${name(index, 2)},done,${index * 3}`,
		failure: "psql: error: connection to server failed",
	},
	"rows with tabs": {
		line: (index) => `${index}\t${name(index)}\t${name(index, 2)}\tok`,
		failure: "bash: line 3: foo: command not found",
	},
	"columns of pods": {
		line: (index) => `app-${index}   1/1   Running   0   3m`,
		failure: "app-x7   0/1   CrashLoopBackOff   17   3m",
	},
	"lines of a diff": {
		line: (index) =>
			[
				`diff --git a/${index}.c b/${index}.c`,
				`--- a/${index}.c`,
				`+++ b/${index}.c`,
				`@@ -1,7 +1,7 @@ int f${index}()`,
			][index % 50] ?? `${"+- "[index % 3]}  ${name(index)} = ${name(index, 2)}(${index});`,
		failure: "error: patch failed: src/a.c:10",
	},
	"lines of code": {
		line: (index) => `  const ${name(index)}${index} = compute(${name(index, 2)}, ${index});`,
		failure: "cat: /etc/app.conf: Permission denied",
	},
	"code that throws": {
		line: (index) => `    if (${name(index)}${index} === null) throw new TypeError("bad ${name(index, 2)}");`,
		failure: "Killed",
	},
	Markdown: {
		line: (index) =>
			index % 3 ? `- the ${name(index)} of ${name(index, 2)} ${index} is **ready**` : `## Part ${index}`,
		failure: "E: Unable to locate package libfoo",
	},
	prose: {
		line: (index) =>
			`The ${name(index)} of the ${name(index, 2)} was seen by the ${name(index, 3)}, which went on without any delay.`,
		failure: "fatal: not a git repository (or any of the parent directories): .git",
	},
	"a bar": {
		line: (index) => `${(index / 30).toFixed(1)}% [${"=".repeat(index % 40)}>] ${index} MB`,
		failure: "curl: (56) Recv failure: Connection reset by peer",
	},
	Russian: {
		line: (index) => `обработан файл номер ${index}`,
		failure: "CMake Error at CMakeLists.txt:3 (find_package):",
	},
	Chinese: { line: (index) => `正在处理第 ${index} 个文件`, failure: "npm ERR! code ELIFECYCLE" },
	"files listed": {
		line: (index) => `-rw-r--r-- 1 root root ${index * 17} Mar  1 10:00 ${name(index)}_error_${index}.txt`,
		failure: "--- FAIL: TestParse (0.00s)",
	},
	"lines with times": {
		line: (index) => `2026-03-01T10:00:${index % 60}.${index % 1000}Z INFO worker-${index % 8} did ${name(index)}`,
		failure: "E0301 10:00:00.000000       1 main.go:9] could not open store",
	},
	"steps of a build of an image": {
		line: (index) =>
			`#${index % 20} ${index}.${index % 1000} Get:${index} http://deb.example.org/${name(index)} ${index} kB`,
		failure: 'ERROR: failed to solve: process "/bin/sh -c make" did not complete successfully: exit code: 2',
	},
	"services with their names": {
		line: (index) => `web_1  | handled request ${index} for ${name(index)}`,
		failure: 'db_1   | ERROR:  relation "users" does not exist',
	},
	"test cases in XML": {
		line: (index) => `  <testcase name="${name(index)}${index}" time="0.${index}"/>`,
		failure: "##[error]Process completed with exit code 1.",
	},
	"statements of SQL": {
		line: (index) => `INSERT INTO ${name(index)} VALUES (${index}, '${name(index, 2)}');`,
		failure: "deadlock detected",
	},
	"a page": {
		line: (index) => (index === 0 ? "<!doctype html><html><body>" : `<p>Row ${index} of ${name(index)}</p>`),
		failure: "<p>HTTP/1.1 503 Service Unavailable</p>",
	},
	"encoded data": {
		line: (index) =>
			Buffer.from(`${index} ${name(index)} and some more text to make it long`)
				.toString("base64")
				.replace(/=/g, ""),
		failure: 'level=error msg="could not open store"',
	},
	"lines between blank ones": {
		line: (index) => (index % 2 === 0 ? `step ${index} finished` : ""),
		failure: "Traceback (most recent call last):",
	},
	"control characters": {
		line: (index) => `\u0001\u0002\u0003\u0004 ${index} \u0005\u0006`,
		failure: "Error response from daemon: No such container: x",
	},
	"requests that are served": {
		line: (index) =>
			`127.0.0.1 - - [01/Mar/2026:10:00:00 +0000] "GET /errors/${name(index)}/${index} HTTP/1.1" 200 500`,
		failure: '127.0.0.1 - - [01/Mar/2026:10:00:00 +0000] "POST /pay HTTP/1.1" 503 12',
	},
	warnings: {
		line: (index) => `warning: ${name(index)}${index} is never used, which is no error`,
		failure: "Error: INSTALLATION FAILED: cannot re-use a name that is still in use",
	},
};

let countTokens: (text: string) => number;
beforeAll(async () => {
	countTokens = await loadCounter("o200k_base");
});

/** 3 000 lines of a style with its failure at a place. */
function logOf({ line, failure }: Style, place: number): string {
	const lines = range(lineCount).map(line);
	lines.splice(Math.floor(lineCount * place), 0, failure);
	return lines.join("\n");
}

/** A failure as it stands in what is shown: of a page without its tags. */
const shownAs = (failure: string) => failure.replace(/<\/?p>/g, "");

describe("the only failure among 3 000 lines", () => {
	const each = Object.keys(styles).map((style, index) => ({ style, index }));
	/** Half of them: the other half is that of the other way, and of the style before. */
	const budgetsOf = (way: "held" | "streamed", index: number) =>
		[...budgets.entries()].filter(([turn]) => isWhole || (index + (turn >> 1) + (way === "held" ? 0 : 1)) % 2 === 0);

	it("is tested in more than 30 styles", () => {
		expect(each.length).toBeGreaterThan(33);
		expect(new Set(Object.values(styles).map(({ failure }) => failure)).size).toBe(each.length);
	});

	it.each(each)("is kept in a text held in memory ($style)", ({ style, index }) => {
		const { failure } = styles[style] as Style;
		for (const [turn, max] of budgetsOf("held", index)) {
			const text = logOf(styles[style] as Style, places[(index + turn) % places.length] as number);
			const sought = (index + turn) % 2 === 0 ? "" : focus;
			const budget = { unit: "tokens", max, countTokens } as const;
			const cut = shorten(text, 0, { ...textLibraries, budget, focus: sought });
			expect(cut.tokens?.after).toBeLessThanOrEqual(max);
			expect(
				cut.text.split("\n").map((one) => one.trim()),
				`${max} tokens, focus ${sought}`,
			).toContain(shownAs(failure).trim());
		}
	});

	it.each(each)("is kept in a streamed text ($style)", ({ style, index }) => {
		const { failure } = styles[style] as Style;
		for (const [turn, max] of budgetsOf("streamed", index)) {
			const text = logOf(styles[style] as Style, places[(index + turn) % places.length] as number);
			const { text: shown } = shortenPieces(text, { unit: "tokens", max, countTokens });
			expect(countTokens(shown)).toBeLessThanOrEqual(max);
			const lines = shown.split("\n").map((one) => one.trim());
			expect(lines, `${max} tokens`).toContain(failure.trim());
		}
	});
});

describe("a failure in a text of another form", () => {
	const failure = "foo.c:33:5: error: undeclared identifier bar";
	const lines = range(lineCount).map((index) => (index === 1_980 ? failure : `copying a${index} -> b${index}`));
	const filler = "alpha beta gamma ".repeat(4_000);
	const texts: Readonly<Record<string, string>> = {
		"a list of JSON": JSON.stringify(range(lineCount).map((index) => ({ id: index, said: lines[index] }))),
		"a list of JSON on many lines": JSON.stringify(
			range(lineCount).map((index) => ({ id: index, said: lines[index] })),
			null,
			2,
		),
		"an output inside of JSON": JSON.stringify({ exit_code: 1, stdout: lines.join("\n") }),
		"an output deep inside of JSON": JSON.stringify({ steps: [{ name: "build", log: { text: lines.join("\n") } }] }),
		"the words before JSON": `${range(30)
			.map((index) => `line ${index}`)
			.join("\n")}\n${failure}\n${JSON.stringify(range(2_000).map((index) => ({ id: index })))}`,
		"a line longer than the budget": [...lines.slice(0, 900), `${failure} ${filler}`, ...lines.slice(0, 900)].join(
			"\n",
		),
		"the middle of a line longer than the budget": [lines[0], `${filler} ${failure} ${filler}`, lines[1]].join("\n"),
		"carriage returns": `${range(3_000)
			.map((index) => `${index} kB`)
			.join("\r")}\n${failure}\n${range(3_000)
			.map((index) => `${index} kB`)
			.join("\r")}`,
		"lines that end with CR LF": lines.join("\r\n"),
		"minified code": `${"function(a){return b(a,1)};".repeat(900)}\n${failure}\n${"function(a){return b(a,1)};".repeat(900)}`,
	};

	it.each(Object.keys(texts))("is kept (%s)", (kind) => {
		const text = texts[kind] as string;
		for (const max of budgets) {
			const budget = { unit: "tokens", max, countTokens } as const;
			for (const sought of ["", focus])
				expect(shorten(text, 0, { ...textLibraries, budget, focus: sought }).text, `${max}, ${sought}`).toContain(
					failure,
				);
			expect(shortenPieces(text, budget).text, `${max}`).toContain(failure);
		}
	});

	it("is kept completely even when it takes most of the room", () => {
		const long = `foo.c:33:5: error: ${range(70)
			.map((index) => `name${index} ${name(index)}`)
			.join(" ")}`;
		const text = [...lines.slice(0, 1_500), long, ...lines.slice(0, 1_500)].join("\n");
		const budget = { unit: "tokens", max: 500, countTokens } as const;
		expect(shorten(text, 0, { budget }).text).toContain(long);
	});

	it("is found in spite of its colours", () => {
		const coloured = range(3_000).map((index) =>
			index === 2_000
				? "\u001b[31;1merror\u001b[0m\u001b[1m: no such thing\u001b[0m"
				: `\u001b[32mstep\u001b[0m ${index}`,
		);
		for (const keepAnsi of [true, false])
			expect(shorten(coloured.join("\n"), 2_000, { keepAnsi }).text).toContain("no such thing");
	});

	it("keeps the first, the last, and as many as fit between them", () => {
		const failures = range(300).map(
			(index) => `src/file${index}.c:${index}:5: error: undeclared identifier name${index}`,
		);
		const text = range(3_000)
			.map((index) => (index % 10 === 5 ? failures[Math.floor(index / 10)] : `copying a${index} -> b${index}`))
			.join("\n");
		for (const max of [2_000, 8_000]) {
			const held = shorten(text, max).text;
			const passed = shortenPieces(text, { unit: "chars", max }, { mostChars: max }).text;
			for (const shown of [held, passed]) {
				expect(shown).toContain(failures[0]);
				expect(shown).toContain(failures.at(-1));
				const kept = failures.filter((one) => shown.includes(one)).length;
				expect(kept).toBeGreaterThan((max * 0.25) / 80);
			}
		}
	});

	it("leaves most of the room to code and prose that mention errors", () => {
		const code = range(2_000).map((index) =>
			index % 2
				? `  throw new TypeError("bad ${name(index)} ${index}");`
				: `  const value${index} = ${name(index)}(${index});`,
		);
		const shown = shorten(code.join("\n"), 8_000).text.split("\n");
		expect(shown.slice(1, 60)).toEqual(code.slice(0, 59));
		expect(shown.slice(-59)).toEqual(code.slice(-59));
	});
});
