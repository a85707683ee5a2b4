import { describe, expect, it } from "vitest";
import { shorten } from "./shorten.ts";

const [count, failing] = [1_500, 900];
const rows = <Row>(row: (index: number, fails: boolean) => Row): Row[] =>
	Array.from({ length: count }, (_, index) => row(index, index === failing));
const lines = (row: (index: number, fails: boolean) => readonly object[]) =>
	rows((index, fails) => row(index, fails).map((one) => JSON.stringify(one)))
		.flat()
		.join("\n");

/** Reports of tools with one failure, and what has to be read of it. */
const reports: Readonly<Record<string, readonly [text: string, mark: string]>> = {
	ESLint: [
		JSON.stringify(
			rows((index, fails) => ({
				filePath: `/src/file-${index}.ts`,
				messages: fails ? [{ ruleId: "no-undef", severity: 2, message: "'zorp' is unknown here.", line: 9 }] : [],
				errorCount: fails ? 1 : 0,
				warningCount: 0,
			})),
		),
		"'zorp' is unknown here",
	],
	"ESLint by message": [
		JSON.stringify(
			rows((index, fails) => ({ ruleId: "semi", severity: fails ? 2 : 1, line: index, message: `at ${index}` })),
		),
		`at ${failing}`,
	],
	"a language server": [
		JSON.stringify(
			rows((index, fails) => ({ range: { start: index }, severity: fails ? 1 : 3, message: `at ${index}` })),
		),
		`at ${failing}`,
	],
	"go test": [
		lines((index, fails) => {
			const event = (own: object) => ({
				Time: "2026-11-01T00:00:00Z",
				...own,
				Package: "acme/p",
				Test: `TestN${index}`,
			});
			return [
				event({ Action: "run" }),
				event({ Action: "output", Output: `=== RUN TestN${index}\n` }),
				...(fails ? [event({ Action: "output", Output: "    a_test.go:7: got 7, want 42\n" })] : []),
				event({ Action: fails ? "fail" : "pass", Elapsed: 0.1 }),
			];
		}),
		"got 7, want 42",
	],
	PHPStan: [
		JSON.stringify({
			totals: { errors: 0, file_errors: 1 },
			files: Object.fromEntries(
				rows((index, fails) => [
					`/src/File${index}.php`,
					{ errors: fails ? 1 : 0, messages: fails ? [{ message: "Method zorp() returns int.", line: 3 }] : [] },
				]),
			),
		}),
		"Method zorp() returns int",
	],
	Mocha: [
		JSON.stringify({
			stats: { passes: count - 1, failures: 1 },
			tests: rows((index, fails) => ({ title: `case ${index}`, err: fails ? { message: "7 is not 42" } : {} })),
		}),
		"7 is not 42",
	],
	Cypress: [
		JSON.stringify({
			results: rows((index, fails) => ({ title: `case ${index}`, pass: !fails, fail: fails, code: `zorp(${index})` })),
		}),
		`zorp(${failing})`,
	],
	Ansible: [
		JSON.stringify({
			hosts: rows((index, fails) => ({ host: `db-${index}`, failed: fails, msg: `state of ${index}` })),
		}),
		`state of ${failing}`,
	],
	"a checker": [
		JSON.stringify(rows((index, fails) => ({ check: `policy-${index}`, passed: !fails, note: `note of ${index}` }))),
		`note of ${failing}`,
	],
	counters: [
		JSON.stringify(rows((index, fails) => ({ suite: `suite-${index}`, tests_failed: fails ? 3 : 0, tests_passed: 9 }))),
		`suite-${failing}`,
	],
	"exit codes": [
		JSON.stringify(rows((index, fails) => ({ step: `step-${index}`, exit_status: fails ? 3 : 0 }))),
		`step-${failing}`,
	],
	NUnit: [
		`<test-run>\n${rows((index, fails) => `  <test-case name="Case${index}" result="${fails ? "Failed" : "Passed"}" />`).join("\n")}\n</test-run>`,
		`Case${failing}"`,
	],
};

describe("a report of a machine", () => {
	it.each(Object.entries(reports).flatMap(([tool, report]) => [3_000, 12_000].map((max) => ({ tool, report, max }))))(
		"keeps its one failure: $tool in $max characters",
		({ report: [text, mark], max }) => {
			expect(shorten(text, max, { ref: undefined }).text).toContain(mark);
		},
	);

	const isJson = (text: string) => text.startsWith("[") || !text.includes("\n");
	const ofMcp = (text: string) => JSON.stringify({ content: [{ type: "text", text }], isError: false });
	const wrappings: readonly (readonly [string, (text: string) => string])[] = [
		["a result of an MCP server", ofMcp],
		["two of them", (text) => ofMcp(ofMcp(text))],
		["a string", (text) => JSON.stringify(JSON.stringify(text))],
		["a text behind a byte order mark", (text) => `\ufeff${text}`],
		[
			"a member of other text",
			(text) => JSON.stringify({ note: 'é \u2028 "\n', stdout: JSON.stringify(JSON.parse(text), null, "\t") }),
		],
	];

	it.each(
		Object.entries(reports).flatMap(([tool, [text, mark]]) =>
			isJson(text) ? wrappings.map(([around, wrap]) => ({ tool, around, text: wrap(text), mark })) : [],
		),
	)("keeps its one failure in $around: $tool", ({ text, mark }) => {
		const shown = shorten(text, 6_000, { ref: undefined }).text;
		expect(shown.replaceAll("\\", "")).toContain(mark);
		expect(() => JSON.parse(shown.replace("\ufeff", ""))).not.toThrow();
	});

	it.each(["maxErrors", "failureThreshold", "errorLine", "retryOnFailure", "failedJobsHistoryLimit"])(
		"has no failure in a setting such as %s",
		(key) => {
			const text = JSON.stringify(rows((index, fails) => ({ name: `item-${index}`, [key]: fails ? 3 : 0 })));
			expect(shorten(text, 3_000, { ref: undefined }).text).not.toContain(`item-${failing}"`);
		},
	);
});
