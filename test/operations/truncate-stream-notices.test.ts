import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../src/errors.ts";
import type { LogEvent } from "../../src/log.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import {
	endingNotice,
	longestShortNotice,
	type RunEnding,
	shortenStream,
	shortenText,
} from "../../src/operations/truncate-stream.ts";
import { charsCheck } from "../../src/operations/truncation-limit.ts";
import type { Archive, Original } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";

const policy = policyOf({ locale: "en" });
const without = policyOf({ locale: "en", on_archive_failure: "mask_without_recall" });
const lines = Array.from({ length: 400 }, (_, index) => `line ${index} of many`).join("\n");
const chars = { kind: "chars", most: 1_000 } as const;
const ends = { kind: "head_tail", maxChars: 5_000 } as const;
const failedRun: RunEnding = { exitCode: 2, durationMs: 1_960 };
const lost = new PalimpsestError("archive_unavailable", "The disk is full.");
const refused = new PalimpsestError("invalid_argument", "Not this one.");

async function* pieces(...all: readonly (Buffer | string)[]): AsyncGenerator<Buffer> {
	for (const one of all) yield Buffer.from(one as string);
}

type Request = Parameters<typeof shortenStream>[0];

const shorten = (given: Partial<Request>) =>
	shortenStream({ pieces: pieces(lines), policy, limit: chars, ...given } as Request);

const open = async () => (await openArchive({ where: "memory" })) as Archive;

const failing = async (error: Error) => ({ ...(await open()), put: () => Promise.reject(error) });

async function firstLineOf(shortened: ReturnType<typeof shorten>): Promise<string> {
	const done = await shortened;
	if (done.kind === "whole") throw new Error("Expected a shortened output.");
	return done.text.split("\n")[0] ?? "";
}

const counts = String.raw`Output shortened: \d+ of 400 lines left out \(\d+ of ${lines.length} characters\)`;
const noticeOf = (before: string, behind: string) => new RegExp(`^\\[${before}${counts}${behind}\\]$`);

describe("the notice of a short output", () => {
	it("names the reference and the command that reads it, and the ending of the run", async () => {
		const archive = await open();
		const ref = archive.refOf(lines);
		expect(await firstLineOf(shorten({}))).toMatch(noticeOf("", ""));
		expect(await firstLineOf(shorten({ archive }))).toMatch(noticeOf("", `\\. All of it: palimpsest recall ${ref}`));
		expect(await firstLineOf(shorten({ archive, command: "npx p", ending: async () => failedRun }))).toMatch(
			noticeOf("Exit code 2 after 2\\.0 s\\. ", `\\. All of it: npx p recall ${ref}`),
		);
		const chinese = await firstLineOf(shorten({ archive, policy: policyOf({ locale: "zh" }) }));
		expect(chinese).toContain(`。全文：palimpsest recall ${ref}]`);
	});

	it("says that the host had cut the text", async () => {
		const archive = await open();
		const text = await shortenText({ text: lines, isCut: true, policy, archive, check: charsCheck(1_000) });
		expect(text).toContain(
			`. The host had cut it already; the ${lines.length} characters that came: palimpsest recall ${archive.refOf(lines)}]`,
		);
	});

	it("of JSON, HTML and a single line names the reference and the ending too", async () => {
		const page = `<!doctype html><html><body>${"<p>words of a page</p>\n".repeat(200)}</body></html>`;
		for (const text of [JSON.stringify({ rows: lines.split("\n") }), page, "word ".repeat(900)]) {
			const archive = await open();
			const { text: short } = (await shorten({ pieces: pieces(text), archive, ending: async () => failedRun })) as {
				text: string;
			};
			expect(short).toContain("Exit code 2 after 2.0 s. ");
			expect(short).toContain(`. All of it: palimpsest recall ${archive.refOf(text)}]`);
		}
	});

	it.each([
		["en", "Exit code 3 after 1.3 s.", "Ended by SIGINT (exit code 130) after 0.0 s."],
		["fr", "Code de sortie 3 après 1.3 s.", "Terminé par SIGINT (code de sortie 130) après 0.0 s."],
		["zh", "退出码 3，用时 1.3 秒。", "被 SIGINT 终止（退出码 130），用时 0.0 秒。"],
	] as const)("says in %s how the command ended", (locale, ended, killed) => {
		expect(endingNotice(locale, { exitCode: 3, durationMs: 1_260 })).toBe(ended);
		expect(endingNotice(locale, { exitCode: 130, signal: "SIGINT", durationMs: 1 })).toBe(killed);
	});

	it("is at its longest with a signal, after a long time, in JSON", () => {
		const notice = JSON.parse(longestShortNotice("en"))._truncated;
		expect(notice).toMatch(/^\[Ended by SIGTERM \(exit code 143\) after 100000\.0 s\. [^[]*1000000000000[^[]*\]$/);
	});
});

describe("the log of a command", () => {
	it("gets all of the limit only if the command failed", async () => {
		const log = Array.from({ length: 4_000 }, (_, index) => (index * 104_729).toString(36)).join(" is done\n");
		const sizeAfter = async (exitCode?: number) => {
			const ending = exitCode === undefined ? undefined : async () => ({ exitCode, durationMs: 0 });
			const limit = { kind: "chars", most: 40_000 } as const;
			const { text } = (await shorten({ pieces: pieces(log), strategy: "log", limit, ending })) as { text: string };
			return text.length;
		};
		expect(await sizeAfter(1)).toBeGreaterThan(39_000);
		expect(await sizeAfter(0)).toBeLessThan(30_000);
		expect(await sizeAfter()).toBeLessThan(30_000);
	});
});

describe("a short output", () => {
	it("stays whole up to its limit, in characters and in tokens", async () => {
		const text = "0123456789".repeat(100);
		const whole = { kind: "whole", bytes: Buffer.from(text) };
		expect(await shorten({ pieces: pieces(text) })).toEqual(whole);
		expect((await shorten({ pieces: pieces(text, "!") })).kind).toBe("shortened");
		expect(await shorten({ pieces: pieces(text), limit: { kind: "tokens", most: 1_000 } })).toEqual(whole);
		expect((await shorten({ limit: { kind: "tokens", most: 200 } })).kind).toBe("shortened");
		const scaled = policyOf({ guard: { model: "claude-sonnet-4-5" } });
		const odd = { pieces: pieces("∮".repeat(100)), limit: { kind: "tokens", most: 300 } } as const;
		expect((await shorten(odd)).kind).toBe("whole");
		expect((await shorten({ ...odd, pieces: pieces("∮".repeat(100)), policy: scaled })).kind).toBe("shortened");
	});

	it("is archived under its call, or as a text", async () => {
		const archive = await open();
		await shorten({ archive, toolCall: { id: "call_7", name: "bash", input: {} } });
		expect(await archive.find("call_7")).toMatchObject([{ kind: "result", toolName: "bash", chars: lines.length }]);
		const other = await open();
		await shorten({ archive: other });
		for await (const { kind, toolCallId } of other.list()) expect([kind, toolCallId]).toEqual(["text", undefined]);
		expect((await other.stats()).originals).toBe(1);
	});

	it("is logged with both sizes when it is cut", async () => {
		const events: LogEvent[] = [];
		const log = (event: LogEvent) => events.push(event);
		const { text } = (await shorten({ log })) as { text: string };
		await shorten({ log, pieces: pieces("short") });
		const message = `Truncated a text (${lines.length} → ${text.length} chars)`;
		const data = { event: "truncated", chars_before: lines.length, chars_after: text.length };
		expect(events).toEqual([{ level: "warning", message, data }]);
	});

	it.each([chars, ends])(
		"that cannot be archived is an error, or passes unchanged, or is cut: $kind",
		async (limit) => {
			const archive = await failing(lost);
			await expect(shorten({ archive, limit })).rejects.toBe(lost);
			const passed = await shorten({ archive, limit, letThrough: true });
			expect(passed).toEqual({ kind: "whole", bytes: Buffer.from(lines), failure: lost });
			const cut = await shorten({ archive, limit, policy: without });
			expect(cut).toMatchObject({ kind: "shortened" });
			expect((cut as { text: string }).text).not.toContain("recall");
		},
	);

	it("passes on every other error of the archive", async () => {
		for (const error of [refused, new TypeError("A mistake.")]) {
			const archive = await failing(error);
			await expect(shorten({ archive, policy: without, letThrough: true })).rejects.toBe(error);
		}
	});

	it("is refused only under a named limit that has no room for the notice", async () => {
		const limit = { kind: "chars", most: 9 } as const;
		expect((await shorten({ limit })).kind).toBe("shortened");
		const message = /`--max-chars`.*the smallest that works here is \d\d; got 9\./;
		await expect(shorten({ limit, limitName: "--max-chars" })).rejects.toThrow(message);
		const roomy = await shorten({ limitName: "--max-chars" });
		expect(roomy.kind).toBe("shortened");
	});
});

/** Longer than any output that is held in memory. */
const long = Buffer.from(`${"A line of a very long output, like all others, that says nothing new.\n".repeat(1_000)}`);
const times = Math.ceil((8 * 1024 * 1024 + 1) / long.length);
const longPieces = (before: readonly number[] = [], behind: readonly number[] = []) =>
	pieces(Buffer.from(before), ...Array.from({ length: times }, () => long), Buffer.from(behind));

/** Remembers its calls, and fails in one of them. */
function recorder(fails?: "putInPieces" | "write" | "end", error: Error = lost) {
	const calls: string[] = [];
	const kinds: Omit<Original, "text">[] = [];
	const act = (name: string) => {
		if (calls.at(-1) !== name) calls.push(name);
		if (name === fails) throw error;
	};
	const writer = {
		write: async () => act("write"),
		end: async () => {
			act("end");
			return { ref: "ref12345", bytes: 67_108_864, isWhole: false };
		},
		discard: async () => {
			act("discard");
			throw new Error("Nothing is left to discard.");
		},
	};
	const putInPieces = async (original: Omit<Original, "text">, most: number) => {
		kinds.push(original);
		act("putInPieces");
		expect(most).toBe(64 * 1024 * 1024);
		return writer;
	};
	return { calls, kinds, archive: { putInPieces } as unknown as Archive };
}

describe("an output too long to be held", () => {
	it("names the part of it that is archived; its bytes are decoded to the end, and it is logged", async () => {
		const events: LogEvent[] = [];
		const { archive, calls, kinds } = recorder();
		const given = { archive, limit: ends, log: (event: LogEvent) => events.push(event), limitName: "limit" };
		const toolCall = { id: "c", name: "bash", input: {} };
		const shortened = await shorten({ ...given, toolCall, pieces: longPieces([0xef, 0xbb, 0xbf], [0xe6, 0xbc]) });
		const { text, failure } = shortened as { text: string; failure: unknown };
		expect(failure).toBeUndefined();
		expect(text.slice(0, 7)).toBe("\ufeffA line");
		expect(text.at(-1)).toBe("\ufffd");
		expect(text).toContain("[Its first 67108864 bytes: palimpsest recall ref12345]\n\n");
		expect(text.length).toBeLessThanOrEqual(5_000);
		expect(calls).toEqual(["putInPieces", "write", "end"]);
		expect(kinds).toEqual([{ kind: "result", toolCallId: "c", toolName: "bash" }]);
		const before = times * long.length + 2;
		expect(events.map(({ data }) => data)).toEqual([
			{ event: "truncated", chars_before: before, chars_after: text.length },
		]);
	});

	it.each(["putInPieces", "write", "end"] as const)("passes when the archive fails in %s", async (fails) => {
		const { archive, calls } = recorder(fails);
		const shortened = await shorten({ archive, limit: ends, pieces: longPieces() });
		expect(shortened).toMatchObject({ kind: "shortened", failure: lost });
		expect((shortened as { text: string }).text).not.toContain("recall");
		const before = { putInPieces: [], write: ["putInPieces"], end: ["putInPieces", "write"] }[fails];
		expect(calls).toEqual([...before, fails, ...(fails === "putInPieces" ? [] : ["discard"])]);
	});

	it("is cut within a limit in characters, with the command and the ending, or refused", async () => {
		const given = { ...recorder(), command: "npx p", ending: async () => failedRun };
		expect(await firstLineOf(shorten({ ...given, pieces: longPieces() }))).toMatch(
			/^\[Exit code 2 after 2\.0 s\. Output shortened: .*\. Its first 67108864 bytes: npx p recall ref12345\]$/,
		);
		expect(await firstLineOf(shorten({ pieces: longPieces() }))).toMatch(/^\[Output shortened: [^.]*\]$/);
		const limit = { kind: "chars", most: 9 } as const;
		const small = shorten({ ...recorder(), limit, limitName: "--max-chars", pieces: longPieces() });
		await expect(small).rejects.toThrow(/`--max-chars`.*; got 9\./);
	});

	it("keeps its ends as a text does that is held, with and without an archive", async () => {
		const text = `${long.toString().repeat(times)}漢`;
		const own = policyOf({ locale: "en", truncate: { marker_template: "[cut, see {ref}]" } });
		const all = Array.from({ length: times }, () => long);
		for (const [archive, policy] of [
			[undefined, own],
			[await open(), without],
		] as const) {
			// A character in two pieces.
			const split = pieces(...all, Buffer.from([0xe6]), Buffer.from([0xbc, 0xa2]));
			const shortened = await shorten({ archive, policy, limit: ends, pieces: split });
			const cut = await truncateText({ text, policy, archive, maxChars: ends.maxChars, strategy: "head_tail" });
			expect(shortened).toEqual({ kind: "shortened", text: cut.text, failure: undefined });
		}
	});

	it("is refused within a named limit of both ends that has no room for the marker", async () => {
		const given = { limit: { kind: "head_tail", maxChars: 9 } as const, limitName: "--max-chars" };
		await expect(shorten({ ...given, pieces: longPieces() })).rejects.toThrow(/`--max-chars`.*; got 9\./);
		const unnamed = await shorten({ limit: given.limit, pieces: longPieces() });
		expect(unnamed.kind).toBe("shortened");
	});

	it("passes on an error that is not a failure of the archive", async () => {
		const mistake = new TypeError("A mistake.");
		await expect(shorten({ ...recorder("putInPieces", mistake), pieces: longPieces() })).rejects.toBe(mistake);
	});
});
