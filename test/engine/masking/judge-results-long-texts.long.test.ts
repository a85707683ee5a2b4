import { describe, expect, it } from "vitest";
import { callTarget } from "../../../src/engine/masking/call-targets.ts";
import { structuralError } from "../../../src/engine/masking/errors.ts";
import { findErrors } from "../../../src/engine/masking/judge-results.ts";
import { findStale } from "../../../src/engine/masking/staleness.ts";
import { otherTarget } from "../../../src/engine/masking/targets.ts";
import { transcriptOf } from "../../support/transcripts.ts";
import { called, edit, read } from "./called.ts";
import { digestOf } from "./digests.ts";

const size = 400_000;

/** Texts on which anything that is not linear would take minutes, longer than a test may. */
const texts: Readonly<Record<string, string>> = Object.fromEntries(
	[
		"a",
		" ",
		"\n",
		"/a",
		"'",
		'"',
		"\\",
		"|",
		"; a",
		"$(",
		"> a ",
		"cat <<E\n",
		"<<A <<B\n",
		"--- a\n",
		"*** Update File: a\n",
		"open('",
		"Traceback (most recent call last):\n",
		"=",
		"../engine/",
		"1 failed, ",
		"\u001b[0m",
		"<system-reminder>",
		"Exit code: 1\n",
	].map((piece) => [JSON.stringify(piece), piece.repeat(size / piece.length)]),
);

const run = { ...otherTarget, kind: "run" } as const;

describe("long texts take linear time", () => {
	it.each(Object.keys(texts))("%s, repeated", (name) => {
		const text = texts[name] as string;
		for (const tool of ["bash", "apply_patch", "Edit"]) {
			const target = callTarget({ name: tool, argumentsText: text });
			const inJson = callTarget({ name: tool, argumentsText: JSON.stringify({ command: text, path: "a" }) });
			expect(target.paths.length + inJson.paths.length).toBeLessThan(10);
		}
		const reminded = { texts: [{ path: [], text: `<output>${text}</system-reminder></output>` }], isError: undefined };
		expect(structuralError({ result: reminded, target: run }) ?? "none").toMatch(/^[a-z_]+$/);
		expect(digestOf({ text, maxTokens: 50, countTokens: (digest) => digest.length }).length).toBeLessThanOrEqual(50);
	});

	it("a text of 100 000 identifiers", () => {
		const text = Array.from({ length: 100_000 }, (_, index) => `name_${index} src/d${index}.ts`).join(" ");
		const digest = digestOf({ text, maxTokens: 100, countTokens: (one) => Math.ceil(one.length / 4) });
		expect(digest.split(" ").length).toBeGreaterThan(20);
	});

	it("a command with a large number of words and heredocs", () => {
		const words = "x ".repeat(300_000);
		const heredocs = "<<E ".repeat(300_000);
		const script = `cat a | rm ${words}\ncat ${heredocs}\nE\nE`;
		expect(callTarget({ name: "bash", argumentsText: script }).kind).toBe("read");
	});

	it("a conversation that reads and edits one file 20 000 times", () => {
		const calls = Array.from({ length: 10_000 }, (_, index) => [
			read("/a", `content ${index}`, [index * 2 + 1, index * 2 + 2]),
			{ ...edit("/b", `edited ${index}`), isError: index % 2 === 0 },
		]).flat();
		const transcript = transcriptOf(...called(...calls, edit("/a", "done")));
		expect(findStale(transcript).filter((from) => from !== undefined)).toHaveLength(9_999);
		expect(findErrors(transcript).filter((one) => one?.resolvedFrom !== undefined)).toHaveLength(5_000);
	});
});
