import { describe, expect, it } from "vitest";
import { readRecording } from "../../src/formats/recording.ts";

const messages = [
	{ role: "user", content: `Look: "quoted" \\ 'single' \u{1f600} é\n\nand on. ${"word ".repeat(40)}` },
	{ role: "assistant", content: "Done." },
];
const body = JSON.stringify({ model: "some-model", messages });
const short = JSON.stringify({ messages: [messages[0]] });

const cassette = (...bodies: readonly string[]) =>
	[
		"---",
		"version: 2",
		"interactions:",
		...bodies.flatMap((one, id) => [
			`- id: ${id}`,
			"  request:",
			`    body: ${one}`,
			"    headers: {}",
			"  response:",
			`    body: '${JSON.stringify({ messages: [1, 2, 3, 4] })}'`,
		]),
		"",
	].join("\n");

/** A quoted scalar over several lines: each space at which it breaks is a line break. */
const wrapped = (text: string, indent = "      ") => text.replaceAll(/ (?=word)/g, `\n${indent}`);
const single = `'${body.replaceAll("'", "''")}'`;
const double = `"${body.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\u{1f600}", "\\U0001F600").replaceAll("é", "\\xE9")}"`;

describe("VCR cassettes", () => {
	it.each([
		["in single quotes", cassette(single)],
		["in single quotes over several lines", cassette(wrapped(single))],
		["in double quotes", cassette(double)],
		["in double quotes with escaped line ends", cassette(double.replaceAll(" word", " \\\n      word"))],
		["in a block", cassette(`|-\n      ${body}`)],
		["in a folded block", cassette(`>\n      ${body}\n`)],
		["plain on a line", cassette(body)],
		["of Ruby", `http_interactions:\n- request:\n    body:\n      encoding: UTF-8\n      string: ${single}\n`],
	])("reads a body %s", (_, text) => {
		expect(readRecording(text)).toEqual({ kind: "VCR cassette", conversation: JSON.parse(body) });
	});

	it("takes the longest conversation, of equals the last, and no response", () => {
		const later = JSON.stringify({ model: "later", messages });
		expect(
			readRecording(cassette(`'${short.replaceAll("'", "''")}'`, double, `'${later.replaceAll("'", "''")}'`))
				?.conversation,
		).toEqual(JSON.parse(later));
	});

	it("reads a body in which a masked secret left a single backslash", () => {
		const spoilt = `'{"messages":[{"role":"user","content":"a\\\\n \\xxxx"}]}'`;
		expect(readRecording(cassette(spoilt))?.conversation).toEqual({
			messages: [{ role: "user", content: "a\\n \\xxxx" }],
		});
	});

	it.each([
		"interactions: []\n",
		"interactions:\n- request:\n    body: 'no JSON'\n",
		'interactions:\n- request:\n    body: "open\n',
		"a: b\n",
	])("%j is none", (text) => {
		expect(readRecording(text)).toBeUndefined();
	});
});
