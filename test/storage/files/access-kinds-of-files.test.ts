import { execFile } from "node:child_process";
import { open, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createFileAccess, readRegularFile } from "../../../src/storage/files/access.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { refusal } from "./folders.ts";

vi.mock("node:fs/promises", { spy: true });

const limit = 64 * 1024 * 1024;
let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
});

const ways = {
	readRegularFile: (file: string, maxBytes = limit) => readRegularFile(file, maxBytes),
	"read of a file access": (file: string, maxBytes = limit) =>
		createFileAccess({ workingDirectory: "/", roots: async () => ["/"] }).read(file, maxBytes),
};

describe.each(Object.entries(ways))("%s", (_name, read) => {
	it("refuses a sparse file of 1 GB by its size, with flat memory", async () => {
		const file = join(folder, "sparse");
		await writeFile(file, "");
		await truncate(file, 1024 ** 3);
		const before = process.memoryUsage();
		const { code, message } = await refusal(read(file));
		const after = process.memoryUsage();
		expect(code).toBe("payload_too_large");
		expect(message).toContain("1073741824 bytes");
		expect(message).toContain("limits.max_file_bytes");
		const held = ({ arrayBuffers, heapUsed }: NodeJS.MemoryUsage) => arrayBuffers + heapUsed;
		expect(held(after) - held(before)).toBeLessThan(256 * 1024 * 1024);
	});

	it("refuses a database of SQLite by its kind", async () => {
		const file = join(folder, "sessions.db");
		await writeFile(file, `SQLite format 3\0${"x".repeat(4_080)}`);
		const { code, message } = await refusal(read(file));
		expect([code, message]).toEqual(["unreadable_file", expect.stringContaining("it is a database of SQLite. Export")]);
	});

	it("accepts exactly the allowed number of bytes", async () => {
		const file = join(folder, "file");
		await writeFile(file, "12345");
		expect((await read(file, 5)).toString()).toBe("12345");
		expect((await refusal(read(file, 4))).code).toBe("payload_too_large");
	});

	it("accepts an empty file", async () => {
		await writeFile(join(folder, "empty"), "");
		expect(await read(join(folder, "empty"))).toHaveLength(0);
	});

	it.skipIf(process.platform === "win32")("refuses a FIFO without waiting for a writer", async () => {
		const file = join(folder, "pipe");
		await promisify(execFile)("mkfifo", [file]);
		// There never is a writer: one that waited would have no end.
		expect(await refusal(read(file))).toMatchObject({ code: "unreadable_file" });
	});

	it.skipIf(process.platform === "win32")("refuses a socket", async () => {
		const file = join(folder, "socket");
		const server = createServer().listen(file);
		await new Promise((listening) => server.once("listening", listening));
		expect((await refusal(read(file))).code).toBe("unreadable_file");
		server.close();
	});

	it.skipIf(process.platform === "win32").each(["/dev/zero", "/dev/null", "/dev/tty"])("refuses %s", async (file) => {
		expect((await refusal(read(file))).code).toBe("unreadable_file");
	});

	it.skipIf(process.platform !== "linux")("refuses a file without a known size", async () => {
		expect((await refusal(read("/proc/self/status"))).code).toBe("unreadable_file");
	});

	it("refuses a folder", async () => {
		const { code, message } = await refusal(read(folder));
		expect(code).toBe("unreadable_file");
		expect(message).toContain("it is a folder");
	});
});

describe("a file that changes during the read", () => {
	it.each([
		["grows", "0123456789"],
		["grows past the limit", "0".repeat(5_000)],
	])("refuses one that %s", async (_what, more) => {
		const file = join(folder, "log");
		await writeFile(file, "01234");
		// The only moment at which the file can be changed during the read.
		vi.mocked(open).mockImplementationOnce(async (...given) => {
			const handle = await open(...given);
			const stat = handle.stat.bind(handle);
			return Object.assign(handle, {
				stat: async () => {
					const about = await stat();
					await writeFile(file, more, { flag: "a" });
					return about;
				},
			});
		});
		expect(await refusal(readRegularFile(file, 1_000))).toMatchObject({
			code: "unreadable_file",
			message: expect.stringContaining("grew while it was read"),
		});
	});
});
