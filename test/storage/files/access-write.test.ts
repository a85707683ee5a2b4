import { lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Folders, makeFolders, refusal, secret } from "./folders.ts";

const failing = vi.hoisted(() => ({ operation: "" }));
// A full disk, which nobody wants to make for a test.
vi.mock(import("node:fs/promises"), async (importOriginal) => {
	const original = await importOriginal();
	const fail = () => Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
	return {
		...original,
		open: async (...parameters: Parameters<typeof original.open>) => {
			const handle = await original.open(...parameters);
			if (failing.operation === "write") handle.writeFile = fail;
			if (failing.operation === "sync") handle.sync = fail;
			return handle;
		},
		link: (...parameters: Parameters<typeof original.link>) =>
			failing.operation === "link" ? fail() : original.link(...parameters),
		rename: (...parameters: Parameters<typeof original.rename>) =>
			failing.operation === "rename" ? fail() : original.rename(...parameters),
	};
});

let folders: Folders;
beforeEach(async () => {
	folders = await makeFolders();
	failing.operation = "";
});
const write = (path: string, overwrite = false) => folders.access.write(path, "new text é", overwrite);
const at = (...names: string[]) => join(folders.root, ...names);

describe("a file is written", () => {
	it.each([
		["by a relative path", () => "out.json"],
		["by an absolute path", () => at("out.json")],
		["with a name as long as names may be", () => `${"文".repeat(80)}.json`],
	])("%s, readable by its owner only", async (_what, path) => {
		const written = await write(path());
		expect(written.startsWith(`${folders.root}/`)).toBe(true);
		expect(await readFile(written, "utf8")).toBe("new text é");
		expect((await stat(written)).mode & 0o777).toBe(0o600);
		expect(await readdir(folders.root)).toHaveLength(2);
	});

	it("into a folder below", async () => {
		await mkdir(at("below"));
		expect(await write("below/../below/out.json")).toBe(at("below", "out.json"));
	});

	it("through a link to a folder that stays inside, and reports its real path", async () => {
		await mkdir(at("below"));
		await symlink("below", at("link"));
		expect(await write("link/out.json")).toBe(at("below", "out.json"));
	});

	it("over another file on request", async () => {
		await write("chat.json", true);
		expect(await readFile(at("chat.json"), "utf8")).toBe("new text é");
		expect((await stat(at("chat.json"))).mode & 0o777).toBe(0o600);
		expect(await readdir(folders.root)).toEqual(["chat.json"]);
	});

	it("in place of a link on request, without changing the link's target", async () => {
		await symlink(join(folders.outside, "chat.json"), at("link.json"));
		await write("link.json", true);
		expect((await lstat(at("link.json"))).isFile()).toBe(true);
		expect(await readFile(join(folders.outside, "chat.json"), "utf8")).toBe(secret);
	});
});

describe("a file is written next to another", () => {
	const beside = (path: string) => folders.access.writeBeside(path, "masked", "new text é");

	it.each([
		["chat.json", "chat.masked.json"],
		["session.v2.jsonl", "session.v2.masked.jsonl"],
		["session", "session.masked"],
		[".hidden", ".hidden.masked"],
		["chat.masked-7.json", "chat.masked.json"],
		[".masked.json", ".masked.masked.json"],
	])("%s as %s", async (given, name) => {
		expect(await beside(given)).toBe(at(name));
		expect(await readFile(at(name), "utf8")).toBe("new text é");
		expect((await stat(at(name))).mode & 0o777).toBe(0o600);
	});

	it("under the next free name, whether a file or a folder has the previous one", async () => {
		await writeFile(at("chat.masked.json"), "kept");
		await mkdir(at("chat.masked-2.json"));
		await symlink(join(folders.outside, "new.json"), at("chat.masked-3.json"));
		expect(await beside("chat.json")).toBe(at("chat.masked-4.json"));
		expect(await readFile(at("chat.masked.json"), "utf8")).toBe("kept");
		expect(await readdir(folders.outside)).toEqual(["chat.json"]);
	});

	it("under different names when several are written at once", async () => {
		const written = await Promise.all(Array.from({ length: 20 }, () => beside("chat.json")));
		expect(new Set(written).size).toBe(20);
		expect(await readdir(folders.root)).toHaveLength(21);
	});

	it("only in an allowed folder, not when only a file is allowed", async () => {
		expect((await refusal(beside("../outside/chat.json"))).code).toBe("path_not_allowed");
		const { createFileAccess } = await import("../../../src/storage/files/access.ts");
		const access = createFileAccess({ workingDirectory: folders.root, roots: async () => [at("chat.json")] });
		expect((await refusal(access.writeBeside("chat.json", "masked", "text"))).code).toBe("path_not_allowed");
		expect(await readdir(folders.root)).toEqual(["chat.json"]);
	});
});

describe("refused, with nothing written and nothing left behind", () => {
	it.each<[string, string, (folders: Folders) => string | Promise<string>, boolean]>([
		["a file that exists", "file_exists", () => "chat.json", false],
		["a folder that exists", "file_exists", () => ".", false],
		["a folder in the place of a file", "unwritable_file", () => "below", true],
		["a missing folder", "unwritable_file", () => "absent/out.json", false],
		["a file in the place of a folder", "unwritable_file", () => "chat.json/out.json", false],
		["a name that is too long", "unwritable_file", () => "a".repeat(300), false],
		["nothing", "invalid_argument", () => "", false],
		["a NUL", "invalid_argument", () => "out\0.json", false],
		["two dots", "path_not_allowed", () => "../out.json", false],
		["two dots, to overwrite", "path_not_allowed", () => "../outside/chat.json", true],
		["an absolute path", "path_not_allowed", ({ outside }) => join(outside, "out.json"), false],
		["a missing folder outside", "path_not_allowed", ({ outside }) => join(outside, "no", "out.json"), false],
		["a path that only begins like the allowed one", "path_not_allowed", ({ root }) => `${root}.json`, false],
		["the allowed folder itself", "path_not_allowed", () => "../..", true],
		[
			"a folder that is a link out",
			"path_not_allowed",
			async ({ outside }) => {
				await symlink(outside, at("link"));
				return "link/out.json";
			},
			true,
		],
		[
			"a link that exists",
			"file_exists",
			async ({ outside }) => {
				await symlink(join(outside, "chat.json"), at("link"));
				return "link";
			},
			false,
		],
		[
			"a link with a missing target",
			"file_exists",
			async ({ outside }) => {
				await symlink(join(outside, "new.json"), at("link"));
				return "link";
			},
			false,
		],
	])("%s", async (_what, code, prepare, overwrite) => {
		await mkdir(at("below"));
		await writeFile(at("below", "kept"), "");
		const path = await prepare(folders);
		const before = await snapshot();
		expect((await refusal(write(path, overwrite))).code).toBe(code);
		expect(await snapshot()).toEqual(before);
	});

	it.each([
		["write", false],
		["sync", false],
		["link", false],
		["rename", true],
	])("when the disk fails to %s", async (operation, overwrite) => {
		const before = await snapshot();
		failing.operation = operation;
		const { code, message } = await refusal(write(overwrite ? "chat.json" : "out.json", overwrite));
		failing.operation = "";
		expect(code).toBe("unwritable_file");
		expect(message).toContain("ENOSPC");
		expect(await snapshot()).toEqual(before);
	});

	it.skipIf(process.platform !== "linux")("in a folder that is not writable", async () => {
		const { createFileAccess } = await import("../../../src/storage/files/access.ts");
		const access = createFileAccess({ workingDirectory: "/proc/self", roots: async () => ["/proc"] });
		expect((await refusal(access.write("out.json", "text", false))).code).toBe("unwritable_file");
	});
});

it("every opened file is closed again", async () => {
	const count = async () => (await readdir("/proc/self/fd").catch(() => [])).length;
	const before = await count();
	for (let index = 0; index < 20; index += 1) {
		await write(`out-${index}.json`);
		await refusal(write("chat.json"));
		await refusal(write("../out.json"));
		await folders.access.read("chat.json", 100);
		await refusal(folders.access.read("chat.json", 1));
		await refusal(folders.access.read(".", 100));
	}
	expect(await count()).toBeLessThanOrEqual(before + 2);
});

/** Every name in all folders with what it holds. */
async function snapshot(): Promise<Record<string, string>> {
	const names = (await readdir(folders.parent, { recursive: true })).sort();
	const held = names.map(async (name) => {
		const path = join(folders.parent, name);
		const about = await lstat(path);
		if (about.isSymbolicLink()) return [name, await readlink(path)];
		return [name, about.isFile() ? await readFile(path, "utf8") : "folder"];
	});
	return Object.fromEntries(await Promise.all(held));
}
