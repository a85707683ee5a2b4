/** Outputs of programs for a table of excerpts. Each has what its shape is known by, and something to find in its middle. */
const range = (count: number) => Array.from({ length: count }, (_, index) => index);

const lines = (count: number, line: (index: number) => string) => range(count).map(line);

const clock = (index: number) =>
	`10:${String(Math.floor(index / 60)).padStart(2, "0")}:${String(index % 60).padStart(2, "0")}`;

const vowels = "aeiou";

/** A word for a number; others have others. */
const word = (index: number) =>
	`${"bdfgklmnprst"[index % 12]}${vowels[index % 5]}${"lmnrst"[index % 6]}${vowels[(index * 3) % 5]}`;

const passingLog = lines(
	240,
	(index) => `2026-03-01T${clock(index)}Z INFO request ${index} to ${word(index)} served in ${index % 9} ms`,
);

const failingLog = passingLog.map((line, index) => {
	if (index === 90) return `2026-03-01T${clock(index)}Z ERROR could not open ${word(7)} store`;
	if (index > 90 && index < 95) return `    at openStore (src/store${index}.ts:${index}:7)`;
	if (index === 95) return "    at Module._compile (node:internal/modules/cjs/loader:1554:14)";
	if (index === 150 || index === 170) return `2026-03-01T${clock(index)}Z WARN slow answer of ${word(index)}`;
	if (index === 200) return `2026-03-01T${clock(index)}Z ERROR could not open ${word(7)} store`;
	return line;
});

const source = lines(180, (index) => {
	if (index % 20 === 0) return `export function ${word(index)}${index}Total(orders: Order[]): number {`;
	if (index % 20 === 19) return "}";
	if (index % 20 === 9) return "";
	return `\tconst step${index} = compute${index % 4}(orders, "${word(index)}");`;
});

const prose = lines(120, (index) => {
	const said = range(14).map((at) => word(index * 14 + at));
	return index % 6 === 5 ? "" : `${said.join(" ")}${index % 4 === 0 ? "." : ""}`;
});

const diff = range(5).flatMap((file) => [
	`diff --git a/src/${word(file)}.ts b/src/${word(file)}.ts`,
	`index 1234abc..5678def 100644`,
	`--- a/src/${word(file)}.ts`,
	`+++ b/src/${word(file)}.ts`,
	...range(2).flatMap((hunk) => [
		`@@ -${hunk * 40 + 1},12 +${hunk * 40 + 1},14 @@ function ${word(hunk + file)}()`,
		...lines(
			14,
			(index) => `${index % 5 === 2 ? "+" : index % 7 === 3 ? "-" : " "}\tconst ${word(index + file)} = ${index};`,
		),
	]),
]);

const tests = [
	"> app@1.0.0 test",
	...lines(90, (index) => ` ✓ ${word(index)} handles orders of kind ${index} (${index % 5} ms)`),
	" ✗ refuses an order without a price",
	"   AssertionError: expected 3 to be 4",
	"    at test/order.test.ts:12:5",
	...lines(60, (index) => ` ✓ ${word(index)} writes line ${index}`),
	" Tests  1 failed | 150 passed (151)",
	" Duration  3.21s",
];

const records = lines(80, (id) =>
	JSON.stringify({
		id,
		name: word(id),
		total: id * 7,
		note: id === 41 ? "ERROR: disk full" : `${word(id)} `.repeat(6).trim(),
		tags: [word(id), word(id + 1)],
	}),
);

const nested = {
	status: "ok",
	items: range(40).map((id) => ({ id, path: `src/${word(id)}.ts`, size: id * 11, ok: id !== 23 })),
	log: `${passingLog.slice(0, 30).join("\n")}\nFATAL: out of handles\n${passingLog.slice(30, 60).join("\n")}`,
	deep: { a: { b: { c: range(30).map((index) => word(index)) } } },
	last: null,
};

export const samples: Readonly<Record<string, string>> = {
	"a log of a failure": failingLog.join("\n"),
	"a log without a failure": passingLog.join("\n"),
	"a program": source.join("\n"),
	"a text": prose.join("\n"),
	"a diff": diff.join("\n"),
	"a run of tests": `${tests.join("\n")}\n`,
	"a table": [
		"id,name,total,note",
		...lines(150, (id) => `${id},${word(id)},${id * 7},"${word(id)}, ${word(id + 1)}"`),
	].join("\n"),
	columns: [
		"NAME        STATUS    AGE",
		...lines(120, (id) => `${`${word(id)}-${id}`.padEnd(12) + (id === 60 ? "Error     " : "Running   ")}${id}d`),
	].join("\n"),
	JSON: JSON.stringify(nested),
	"indented JSON": JSON.stringify(nested, null, 2),
	"JSON Lines": records.join("\n"),
	"JSON after a line": `Found these:\n${JSON.stringify(nested.items)}\nDone.`,
	"one long line": `${`${word(1)} `.repeat(900)}error: no space left on device ${`${word(2)} `.repeat(300)}`,
	"states of a progress bar": `Downloading\n${lines(300, (index) => `${index} of 300 kB`).join("\r")}\r\nerror: disk full\r\nExit code 1\r\n`,
	"minified code": "function a(b){return c.d(b,function(){e.f=g;h.i(j)})};".repeat(120),
	data: `PNG\0\u0001${"\0\u0003x".repeat(900)}`,
	Base64: Buffer.from(range(2_400).map((index) => (index * 7_919) % 251)).toString("base64"),
	HTML: `<!doctype html><html><body>${lines(120, (index) => `<p>${word(index)} paragraph ${index}</p>`).join("")}</body></html>`,
	colours: lines(90, (index) => `\u001b[32m✓\u001b[39m ${word(index)} ${index} is fine`).join("\n"),
	emoji: "👩‍👩‍👧‍👦🦊é ".repeat(150),
};
