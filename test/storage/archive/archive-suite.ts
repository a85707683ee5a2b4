import fc from "fast-check";
import { afterAll, describe, expect, it, vi } from "vitest";
import type { Archive, Retention } from "../../../src/storage/archive/archive.ts";
import { refOfHash } from "../../../src/storage/archive/reference.ts";
import { anyText, wordyText } from "./texts.ts";

/** How the suite opens the archive under test. */
export type OpenForSuite = (options: {
	readonly namespace: string;
	readonly retention?: Retention;
	readonly now?: () => number;
	readonly uptime?: () => number;
	readonly redact?: readonly string[];
}) => Promise<Archive>;

/** What the suite has to know of a place. */
export interface PlaceForSuite {
	/** Whether what is kept outlives the archive that was opened. */
	readonly outlives: boolean;
	/** Has an hour pass where the place itself keeps the time between sweeps. */
	readonly passHour?: (namespace: string) => Promise<void>;
}

const hour = 3_600_000;
const day = 24 * hour;

/** What every archive must hold to, wherever it stores. */
export function describeArchive(name: string, open: OpenForSuite, place: PlaceForSuite): void {
	const opened: Archive[] = [];
	let count = 0;
	const begin = async (options: Partial<Parameters<OpenForSuite>[0]> = {}): Promise<Archive> => {
		count += 1;
		const archive = await open({ namespace: `suite-${process.pid}-${count}`, ...options });
		opened.push(archive);
		return archive;
	};
	afterAll(() => Promise.all(opened.map((archive) => archive.close())));

	describe(`${name}: storing`, () => {
		it("returns any text unchanged", async () => {
			const archive = await begin();
			let illFormed = 0;
			await fc.assert(
				fc.asyncProperty(fc.array(anyText, { minLength: 1, maxLength: 4 }), async (texts) => {
					const refs = await archive.put(texts.map((text) => ({ text, kind: "result" as const })));
					expect(refs).toEqual(texts.map(archive.refOf));
					for (const [index, ref] of refs.entries()) {
						if (texts[index]?.isWellFormed() === false) illFormed += 1;
						const found = await archive.get(ref);
						expect(found.text).toBe(texts[index]);
						expect(found.chars).toBe(texts[index]?.length);
					}
				}),
				{ numRuns: 60 },
			);
			expect(illFormed).toBeGreaterThan(10);
		});

		it("scans every text up to a size, the last used first, and marks none as used", async () => {
			let clock = 1_900_000_000_000;
			const archive = await begin({ now: () => clock });
			const texts = [
				...Array.from({ length: 70 }, (_, index) => `text ${index} \u{1f600}`),
				"\ud800 alone",
				"x".repeat(300),
			];
			for (const text of texts) {
				clock += 10_000;
				await archive.put([{ text, kind: "result", toolCallId: "one" }]);
			}
			clock += 100_000;
			await archive.get(archive.refOf(texts[3] as string));
			const { oldestUse } = await archive.stats();
			const scanned: string[] = [];
			for await (const { text, ref, listing } of archive.scan(200)) {
				scanned.push(text);
				expect(ref).toBe(archive.refOf(text));
				if (scanned.length === 1) expect(await listing()).toMatchObject({ ref, chars: text.length, kind: "result" });
			}
			const wanted = texts.filter((text) => text.length < 200 && text !== texts[3]).toReversed();
			expect(scanned).toEqual([texts[3], ...wanted]);
			expect((await archive.stats()).oldestUse).toBe(oldestUse);
		});

		it("goes on with a scan after any text of it, also among texts of one time", async () => {
			const archive = await begin({ now: () => 1_900_000_000_000 });
			await archive.put(Array.from({ length: 40 }, (_, index) => ({ text: `text ${index}`, kind: "result" })));
			const all: { readonly ref: string; readonly place: string }[] = [];
			for await (const { ref, place } of archive.scan(200)) all.push({ ref, place });
			expect(new Set(all.map(({ ref }) => ref)).size).toBe(40);
			for (const at of [0, 17, 38, 39]) {
				const rest: string[] = [];
				for await (const { ref } of archive.scan(200, all[at]?.place)) rest.push(ref);
				expect(rest).toEqual(all.slice(at + 1).map(({ ref }) => ref));
			}
			for (const wrong of ["", "nonsense", `zzzz-${all[0]?.ref}x`]) {
				await expect(archive.scan(200, wrong)[Symbol.asyncIterator]().next()).rejects.toMatchObject({
					code: "invalid_argument",
				});
			}
		});

		it("gives equal texts the same ref, of any kind", async () => {
			const archive = await begin();
			const [first] = await archive.put([{ text: "same", kind: "result", toolCallId: "a" }]);
			const again = await archive.put([
				{ text: "same", kind: "text", toolCallId: "b" },
				{ text: "same", kind: "text", toolCallId: "b" },
			]);
			expect(again).toEqual([first, first]);
			expect((await archive.stats()).originals).toBe(1);
			expect(await archive.has(` ${first?.toUpperCase()}`)).toBe(true);
			expect(await archive.has(archive.refOf("another"))).toBe(false);
			expect(await archive.has("no ref")).toBe(false);
		});

		it("stores a large text, and returns it in pieces", async () => {
			const archive = await begin();
			const text = `${wordyText(5_000_000, 1)}\uD800${"漢😀".repeat(300_000)}`;
			const [ref = ""] = await archive.put([{ text, kind: "result" }]);
			expect((await archive.get(ref)).text === text).toBe(true);
			let longest = 0;
			const { value, listing } = await archive.read(ref, async (pieces) => {
				let read = "";
				for await (const piece of pieces) {
					longest = Math.max(longest, piece.length);
					read += piece;
				}
				return read === text;
			});
			expect(value).toBe(true);
			expect(listing.chars).toBe(text.length);
			expect(longest).toBeLessThan(1_100_000);
			const early = await archive.read(ref, async (pieces) => {
				for await (const piece of pieces) return piece.length;
				return 0;
			});
			expect(early.value).toBeGreaterThan(0);
			expect(early.listing.chars).toBe(text.length);
		});

		it("stores no text at all, and a thousand at once", async () => {
			const archive = await begin();
			expect(await archive.put([])).toEqual([]);
			const texts = Array.from({ length: 1000 }, (_, index) => `text ${index}`);
			const refs = await archive.put(texts.map((text) => ({ text, kind: "group" as const })));
			expect(new Set(refs).size).toBe(1000);
			expect((await archive.stats()).originals).toBe(1000);
			const listed: string[] = [];
			for await (const { ref } of archive.list()) listed.push(ref);
			expect(listed.sort()).toEqual([...refs].sort());
		});
	});

	describe(`${name}: finding`, () => {
		it("lists all results of one call, with tool, size and time", async () => {
			let time = Date.now();
			const archive = await begin({ now: () => time });
			await archive.put([{ text: "one", kind: "result", toolCallId: "call \uD800/../x", toolName: "read_file" }]);
			time += 1000;
			await archive.put([
				{ text: "two 漢", kind: "arguments", toolCallId: "call \uD800/../x", toolName: "grep" },
				{ text: "other", kind: "result", toolCallId: "call \uD801/../x" },
			]);
			expect(await archive.find("call \uD800/../x")).toEqual([
				{
					ref: archive.refOf("one"),
					kind: "result",
					toolCallId: "call \uD800/../x",
					toolName: "read_file",
					chars: 3,
					bytes: 3,
					archivedAt: time - 1000,
					redactions: 0,
				},
				expect.objectContaining({
					ref: archive.refOf("two 漢"),
					chars: 5,
					bytes: 7,
					archivedAt: time,
					toolName: "grep",
				}),
			]);
			expect(await archive.find("call")).toEqual([]);
			expect(await archive.find("")).toEqual([]);
		});

		it("stores a text that is held elsewhere at once, and finds it by its call soon after", async () => {
			const archive = await begin();
			const original = { text: "held", kind: "result", toolCallId: "of the proxy", toolName: "grep" } as const;
			const [ref = ""] = await archive.put([original], { isHeldElsewhere: true });
			expect((await archive.get(ref))?.text).toBe("held");
			await vi.waitFor(async () => {
				expect(await archive.find("of the proxy")).toEqual([expect.objectContaining({ ref, toolName: "grep" })]);
			});
		});

		it("finds one text by each of its calls", async () => {
			const archive = await begin();
			await archive.put([{ text: "shared", kind: "result", toolCallId: "first" }]);
			await archive.put([{ text: "shared", kind: "result", toolCallId: "second" }]);
			for (const id of ["first", "second"]) {
				expect((await archive.find(id)).map(({ ref, toolCallId }) => [ref, toolCallId])).toEqual([
					[archive.refOf("shared"), id],
				]);
			}
		});

		it("answers an altered or shortened ref with the nearest one, never with another text", async () => {
			const archive = await begin();
			const refs = await archive.put(Array.from({ length: 50 }, (_, index) => ({ text: `${index}`, kind: "result" })));
			let refused = 0;
			for (const ref of refs) {
				for (const wrong of [ref.slice(0, 6), `${ref.slice(0, -1)}8`, `${ref}0`]) {
					await expect(archive.get(wrong)).rejects.toMatchObject({
						code: "original_not_found",
						message: expect.stringContaining(ref),
					});
					refused += 1;
				}
			}
			expect(refused).toBe(150);
			await expect(archive.get("nonsense")).rejects.toMatchObject({ code: "original_not_found" });
			await expect(archive.get(refOfHash("1".repeat(64)))).rejects.toMatchObject({ code: "original_not_found" });
			expect((await archive.get((refs[7] as string).toUpperCase())).text).toBe("7");
		});

		it("finds nothing of another namespace, nor whether it contains anything", async () => {
			const [one, other] = [await begin(), await begin()];
			const [ref = ""] = await one.put([{ text: "secret of one", kind: "result", toolCallId: "id" }]);
			const refusal = (asked: string) => other.get(asked).catch((error: Error) => error.message);
			const unknown = refOfHash("2".repeat(64));
			expect(await refusal(ref)).toBe(await refusal(unknown));
			expect(await refusal(ref)).not.toContain(ref);
			expect(await other.find("id")).toEqual([]);
			expect((await other.stats()).originals).toBe(0);
			await other.clear();
			expect((await one.get(ref)).text).toBe("secret of one");
		});
	});

	describe(`${name}: expiry`, () => {
		it("deletes the longest unused by age, but nothing recently used", async () => {
			let time = Date.now();
			const archive = await begin({ now: () => time, retention: { maxAgeMs: 10 * day, maxBytes: 1e9 } });
			const [old = "", used = "", putAgain = ""] = await archive.put(
				["old", "used", "put again"].map((text) => ({ text, kind: "result", toolCallId: text })),
			);
			time += 9 * day;
			await archive.get(used);
			await archive.put([{ text: "put again", kind: "result", toolCallId: "put again" }]);
			time += 2 * day;
			expect(await archive.sweep()).toEqual({ removed: 1, removedBytes: 3, kept: 2, keptBytes: 13 });
			await expect(archive.get(old)).rejects.toMatchObject({ code: "original_not_found" });
			expect(await archive.find("old")).toEqual([]);
			expect((await archive.get(used)).text).toBe("used");
			expect((await archive.get(putAgain)).text).toBe("put again");
			expect(await archive.put([{ text: "old", kind: "result", toolCallId: "old" }])).toEqual([old]);
			expect((await archive.find("old")).length).toBe(1);
		});

		it("deletes the longest unused by size, but nothing of the last hour", async () => {
			let time = Date.now();
			const archive = await begin({ now: () => time, retention: { maxAgeMs: 10 * day, maxBytes: 250 } });
			const texts = Array.from({ length: 5 }, (_, index) => `${index}`.repeat(100));
			for (const text of texts) {
				await archive.put([{ text, kind: "result" }]);
				time += 10 * 60_000;
			}
			expect((await archive.sweep()).removed).toBe(0);
			expect((await archive.stats()).bytes).toBe(500);
			time += hour;
			expect(await archive.sweep()).toEqual({ removed: 3, removedBytes: 300, kept: 2, keptBytes: 200 });
			for (const [index, text] of texts.entries()) {
				const got = archive.get(archive.refOf(text)).then(
					() => "kept",
					() => "gone",
				);
				expect(await got).toBe(index < 3 ? "gone" : "kept");
			}
		});

		it("deletes nothing fresh after the clock was set back", async () => {
			let time = Date.now();
			const archive = await begin({ now: () => time, retention: { maxAgeMs: day, maxBytes: 1 } });
			const [ref = ""] = await archive.put([{ text: "from the future", kind: "result" }]);
			time -= 400 * day;
			expect((await archive.sweep()).removed).toBe(0);
			expect((await archive.get(ref)).text).toBe("from the future");
		});

		describe("by itself", () => {
			/** Thirty originals in an archive whose clocks the test turns; `sweep` has it sweep as it does by itself. */
			const beginOld = async (retention: Retention = { maxAgeMs: 10 * day, maxBytes: 1e9 }) => {
				count += 1;
				const clock = { time: Date.now(), uptime: 5 * day };
				const namespace = `suite-${process.pid}-${count}`;
				const options = { namespace, retention, now: () => clock.time, uptime: () => clock.uptime };
				let archive = await begin(options);
				const texts = Array.from({ length: 30 }, (_, index) => `original ${index}`.padEnd(100));
				const refs = await archive.put(texts.map((text) => ({ text, kind: "result" as const })));
				const left = async () => {
					const found = await Promise.all(refs.map((ref) => archive.has(ref)));
					return found.filter(Boolean).length;
				};
				let ticks = 0;
				return {
					left,
					use: (some: number) => Promise.all(refs.slice(0, some).map((ref) => archive.get(ref))),
					ask: () => archive.sweep(),
					async sweep(passed: { readonly clock: number; readonly uptime?: number }) {
						clock.time += passed.clock;
						clock.uptime += passed.uptime ?? passed.clock;
						await place.passHour?.(namespace);
						ticks += 1;
						if (!place.outlives) {
							await archive.put([{ text: `tick ${ticks}`, kind: "result" }]);
							await new Promise((resolve) => setImmediate(resolve));
							return left();
						}
						await archive.close();
						// It sweeps as it is opened, and has done so when it is closed.
						await (await begin(options)).close();
						archive = await begin(options);
						return left();
					},
				};
			};

			it("deletes at most a tenth when the clock jumps ahead, by the hour or at a restart", async () => {
				const { sweep } = await beginOld();
				expect(await sweep({ clock: 31 * day, uptime: 1000 })).toBe(30);
				for (let times = 0; times < 5; times += 1) expect(await sweep({ clock: 2 * hour })).toBe(30);
				// The machine starts again, and its clock jumps once more.
				expect(await sweep({ clock: hour, uptime: -5 * day })).toBe(30);
			});

			it("deletes more once a sweep a day later finds the same", async () => {
				const { sweep } = await beginOld();
				expect(await sweep({ clock: 31 * day })).toBe(30);
				expect(await sweep({ clock: day - hour })).toBe(30);
				expect(await sweep({ clock: 2 * hour })).toBe(0);
			});

			it("deletes more a day after the machine restarted, but not after another clock jump", async () => {
				const { sweep } = await beginOld();
				expect(await sweep({ clock: 31 * day })).toBe(30);
				expect(await sweep({ clock: hour, uptime: -5 * day })).toBe(30);
				expect(await sweep({ clock: day, uptime: hour })).toBe(0);
				const other = await beginOld();
				expect(await other.sweep({ clock: 31 * day })).toBe(30);
				expect(await other.sweep({ clock: 40 * day, uptime: hour })).toBe(30);
			});

			it("deletes only what the previous sweep marked", async () => {
				const { sweep, use } = await beginOld();
				await sweep({ clock: 5 * day });
				await use(15);
				expect(await sweep({ clock: 6 * day })).toBe(30);
				expect(await sweep({ clock: 10 * day, uptime: day })).toBe(15);
				expect(await sweep({ clock: day })).toBe(0);
			});

			it("forgets its marks when the clock is right again", async () => {
				const { sweep } = await beginOld();
				expect(await sweep({ clock: 31 * day, uptime: hour })).toBe(30);
				expect(await sweep({ clock: -30 * day, uptime: 2 * day })).toBe(30);
				expect(await sweep({ clock: 31 * day, uptime: hour })).toBe(30);
				expect(await sweep({ clock: day })).toBe(0);
			});

			it("deletes a tenth at once, everything on request, and everything over the size limit", async () => {
				const { sweep, use, ask } = await beginOld();
				await sweep({ clock: 5 * day });
				await use(27);
				expect(await sweep({ clock: 6 * day })).toBe(27);
				expect(await sweep({ clock: 20 * day })).toBe(27);
				expect((await ask()).removed).toBeGreaterThanOrEqual(27);
				const full = await beginOld({ maxAgeMs: 10 * day, maxBytes: 1_050 });
				expect(await full.sweep({ clock: day + hour })).toBeLessThanOrEqual(10);
			});

			it("deletes by size nothing that was used in the last day, unless a user asks", async () => {
				const { sweep, ask } = await beginOld({ maxAgeMs: 10 * day, maxBytes: 1 });
				expect(await sweep({ clock: 2 * hour })).toBe(30);
				expect(await sweep({ clock: 20 * hour })).toBe(30);
				expect((await ask()).removed).toBeGreaterThanOrEqual(30);
				const other = await beginOld({ maxAgeMs: 10 * day, maxBytes: 1 });
				expect(await other.sweep({ clock: day + hour })).toBe(0);
			});
		});

		it("clears everything", async () => {
			const archive = await begin();
			const refs = await archive.put(["a", "b"].map((text) => ({ text, kind: "result", toolCallId: text })));
			expect(await archive.clear()).toBe(2);
			expect(await archive.stats()).toMatchObject({ originals: 0, bytes: 0, oldestUse: null });
			expect(await archive.find("a")).toEqual([]);
			expect(await archive.put([{ text: "a", kind: "result" }])).toEqual([refs[0]]);
			expect((await archive.get(refs[0] as string)).text).toBe("a");
		});
	});

	describe(`${name}: redacting`, () => {
		it("removes matching text, and reports it", async () => {
			const archive = await begin({ redact: ["key-[a-z0-9]+", "(?i)^password: .*$"] });
			const text = "a key-123 and key-456\nPassword: hunter2\nrest";
			const [ref = "", plain = ""] = await archive.put([
				{ text, kind: "result", toolCallId: "id" },
				{ text: "plain", kind: "result" },
			]);
			expect(archive.refOf(text)).toBe(ref);
			const mark = "[redacted before archiving]";
			expect(await archive.get(ref)).toMatchObject({
				text: `a ${mark} and ${mark}\n${mark}\nrest`,
				redactions: 3,
			});
			expect((await archive.find("id"))[0]?.redactions).toBe(3);
			expect(await archive.get(plain)).toMatchObject({ text: "plain", redactions: 0 });
		});
	});
}
