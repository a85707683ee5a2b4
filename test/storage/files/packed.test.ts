import { describe, expect, it } from "vitest";
import { unpack, unpackedName } from "../../../src/storage/files/packed.ts";
import { packed, storedFrame } from "../../support/zstandard.ts";

const how = { name: "rollout.jsonl.zst", mostBytes: 1_000_000 };

describe("unpacking a session", () => {
	it("returns what was packed: one frame, several, and frames that a reader skips", async () => {
		const frame = storedFrame(Buffer.from('{"type":"session_meta"}\n'));
		const skipped = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7]);
		expect(String(await unpack(frame, how))).toBe('{"type":"session_meta"}\n');
		expect(String(await unpack(Buffer.concat([skipped, frame, frame]), how))).toBe(
			'{"type":"session_meta"}\n'.repeat(2),
		);
		expect(String(await unpack(packed, how))).toBe(
			'{"type":"event_msg","payload":{"type":"task_started"}}\n'.repeat(200),
		);
	});

	it("leaves all other files as they are", async () => {
		for (const text of ["", "[]", '{"messages":[]}']) {
			const bytes = Buffer.from(text);
			expect(await unpack(bytes, how)).toBe(bytes);
		}
	});

	it("refuses a damaged file by its name", async () => {
		for (const bytes of [packed.subarray(0, packed.length - 6), packed.subarray(0, 5), packed.subarray(0, 12)]) {
			await expect(unpack(bytes, how)).rejects.toMatchObject({
				code: "unreadable_file",
				message: expect.stringContaining("rollout.jsonl.zst"),
			});
		}
	});

	it.each([
		["a window of 1 GB", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 1, 0, 0, ...Array(16).fill(0)])],
		[
			"a content of 2 GB in one segment",
			Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x7f, 1, 0, 0, ...Array(16).fill(0)]),
		],
		[
			"a window of 1 GB in a second frame",
			Buffer.concat([
				storedFrame(Buffer.from("{}")),
				Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0, ...Array(16).fill(0)]),
			]),
		],
		["a window of 1 GB in ten bytes", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 9, 0, 0, 65])],
		[
			"a window of 8 MB that moves for each of 5 000 empty blocks",
			Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, 13 << 3]), Buffer.alloc(15_000), Buffer.from([1, 0, 0])]),
		],
	])("refuses %s before it takes memory or time for it", async (_what, bytes) => {
		const before = process.memoryUsage().arrayBuffers;
		await expect(unpack(bytes, how)).rejects.toMatchObject({
			code: "unreadable_file",
			message: expect.stringContaining("zstd -d"),
		});
		expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 << 20);
	});

	it("stops at the limit of a file", async () => {
		const most = 54 * 200 + 200;
		await expect(unpack(packed, { ...how, mostBytes: most })).resolves.toHaveLength(55 * 200);
		await expect(unpack(packed, { ...how, mostBytes: 1_000 })).rejects.toMatchObject({ code: "payload_too_large" });
	});

	it("names a packed session without its packing", () => {
		expect(["a.jsonl.zst", "a.jsonl", "a.zst", "a.tar.zst"].map(unpackedName)).toEqual([
			"a.jsonl",
			"a.jsonl",
			"a.zst",
			"a.tar.zst",
		]);
	});
});
