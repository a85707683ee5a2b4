import { describe, expect, it } from "vitest";
import { truncateText } from "../../src/operations/truncate.ts";
import { shortenStream } from "../../src/operations/truncate-stream.ts";
import { bytesToHold } from "../../src/operations/truncation-limit.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { anyBytes, cut } from "./stream-pieces.ts";

const policy = policyOf({ locale: "en" });
const limit = { kind: "head_tail", maxChars: 50_000 } as const;

describe("an output too long to hold in memory", () => {
	const bytes = Buffer.concat([anyBytes(100_000), Buffer.from("漢字😀\n".repeat(900_000)), anyBytes(100_001)]);

	it.each([[[65_536]], [[1_021, 7, 1, 40_009]], [[9_000_000, 3]]])(
		"is read, cut and archived like a short one, with any bytes in any pieces: %j",
		async (lengths) => {
			expect(bytes.length).toBeGreaterThan(bytesToHold(limit, policy));
			const archive = await openArchive({ where: "memory" });
			const text = bytes.toString("utf8");
			const expected = await truncateText({ text, policy, maxChars: limit.maxChars, archive });
			const shortened = await shortenStream({ pieces: cut(bytes, lengths), policy, limit, archive });
			expect(shortened).toEqual({ kind: "shortened", text: expected.text, failure: undefined });
			expect((await archive?.stats())?.originals).toBe(1);
			expect((await archive?.get(expected.report.ref ?? ""))?.text === text).toBe(true);
			await archive?.close();
		},
	);

	it("is cut with half of its limit for each end when head and tail exceed the limit", async () => {
		const tight = { kind: "head_tail", maxChars: 1_000 } as const;
		const expected = await truncateText({ text: bytes.toString("utf8"), policy, maxChars: 1_000 });
		const shortened = await shortenStream({ pieces: cut(bytes, [50_000]), policy, limit: tight });
		expect(shortened).toMatchObject({ text: expected.text });
	});

	it("is cut within a limit in characters, with how the command ended", async () => {
		const ending = async () => ({ exitCode: 137, signal: "SIGKILL", durationMs: 61_250 });
		const shortened = await shortenStream({
			pieces: cut(bytes, [65_536]),
			policy,
			limit: { kind: "chars", most: 5_000 },
			ending,
		});
		const { text } = shortened as { text: string };
		expect(text.length).toBeLessThanOrEqual(5_000);
		expect(text.length).toBeGreaterThan(4_000);
		expect(text.split("\n")[0]).toMatch(
			/^\[Ended by SIGKILL \(exit code 137\) after 61\.3 s\. Output shortened: \d+ of \d+ lines left out \(\d+ of \d+ characters\)\]$/,
		);
	});
});
