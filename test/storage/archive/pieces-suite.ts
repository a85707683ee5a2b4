import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import type { OpenForSuite } from "./archive-suite.ts";
import { anyText, wordyText } from "./texts.ts";

const plenty = 1e9;

/** What every archive must hold to where an original comes in pieces. */
export function describePieces(name: string, open: OpenForSuite): void {
	const opened: Archive[] = [];
	const begin = async (options: Partial<Parameters<OpenForSuite>[0]> = {}): Promise<Archive> => {
		const archive = await open({ namespace: `pieces-${process.pid}-${opened.length}`, ...options });
		opened.push(archive);
		return archive;
	};
	afterAll(() => Promise.all(opened.map((archive) => archive.close())));
	const put = async (archive: Archive, pieces: readonly string[], maxBytes = plenty) => {
		const writer = await archive.putInPieces({ kind: "result", toolCallId: "call", toolName: "Bash" }, maxBytes);
		for (const piece of pieces) await writer.write(piece);
		return writer.end();
	};

	describe(`${name}: storing in pieces`, () => {
		it("stores any text like put, however it is split", async () => {
			const archive = await begin();
			let parted = 0;
			await fc.assert(
				fc.asyncProperty(anyText, fc.integer({ min: 1, max: 5 }), async (text, length) => {
					const pieces = Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
						text.slice(index * length, (index + 1) * length),
					);
					if (pieces.some((piece) => !piece.isWellFormed()) && text.isWellFormed()) parted += 1;
					const { ref, isWhole, bytes } = await put(archive, pieces);
					expect([ref, isWhole]).toEqual([archive.refOf(text), true]);
					const found = await archive.get(ref);
					expect(found.text).toBe(text);
					expect([found.chars, found.bytes]).toEqual([text.length, bytes]);
				}),
				{ numRuns: 80 },
			);
			expect(parted).toBeGreaterThan(2);
		});

		it("records its call, and stores it once", async () => {
			const archive = await begin();
			const { ref } = await put(archive, ["same ", "text"]);
			await put(archive, ["same", " text"]);
			expect(await archive.put([{ text: "same text", kind: "text" }])).toEqual([ref]);
			expect(await archive.find("call")).toMatchObject([{ ref, kind: "result", toolName: "Bash", redactions: 0 }]);
			expect((await archive.stats()).originals).toBe(1);
		});

		it("keeps the beginning of a text over the limit, without split characters", async () => {
			const archive = await begin();
			const { ref, isWhole, bytes } = await put(archive, ["abc", "😀😀", "never"], 8);
			expect({ isWhole, bytes }).toEqual({ isWhole: false, bytes: 7 });
			expect((await archive.get(ref)).text).toBe("abc😀");
			expect((await put(archive, ["abc", "😀"], 7)).isWhole).toBe(true);
		});

		it("keeps nothing of a discarded text", async () => {
			const archive = await begin();
			const writer = await archive.putInPieces({ kind: "text" }, plenty);
			await writer.write("not meant");
			await writer.discard();
			expect((await archive.stats()).originals).toBe(0);
		});

		it("stores a large text", async () => {
			const archive = await begin();
			const text = wordyText(6_000_000, 3);
			const pieces = Array.from({ length: 100 }, (_, index) => text.slice(index * 60_000, (index + 1) * 60_000));
			const { ref } = await put(archive, pieces);
			expect((await archive.get(ref)).text === text).toBe(true);
		});

		it("redacts across pieces before anything is stored", async () => {
			const archive = await begin({ redact: ["secret-[0-9]+"] });
			const { ref } = await put(archive, ["my sec", "ret-12", "34 is", " out"]);
			const found = await archive.get(ref);
			expect(found.text).toBe("my [redacted before archiving] is out");
			expect(found.redactions).toBe(1);
			expect(ref).toBe(archive.refOf("my secret-1234 is out"));
		});
	});
}
