import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { createFileAccess } from "../../../src/storage/files/access.ts";
import { allowedText, type Folders, makeFolders, maxBytes, refusal } from "./folders.ts";

let folders: Folders;
beforeEach(async () => {
	folders = await makeFolders();
});
const read = (path: string) => folders.access.read(path, maxBytes);

describe("a file under an allowed folder is read", () => {
	it.each([
		["by a relative path", () => "chat.json"],
		["by an absolute path", () => join(folders.root, "chat.json")],
		["by a path that leaves and returns", () => "../root/./chat.json"],
	])("%s", async (_what, path) => {
		expect((await read(path())).toString()).toBe(allowedText);
	});

	it("through a link that stays inside", async () => {
		await mkdir(join(folders.root, "inner"));
		await symlink("../chat.json", join(folders.root, "inner", "link.json"));
		expect((await read("inner/link.json")).toString()).toBe(allowedText);
	});

	it("when the allowed folder is a link itself", async () => {
		const link = join(folders.parent, "link-to-root");
		await symlink(folders.root, link);
		const access = createFileAccess({ workingDirectory: link, roots: async () => [link] });
		for (const path of ["chat.json", join(link, "chat.json"), join(folders.root, "chat.json")]) {
			expect((await access.read(path, maxBytes)).toString()).toBe(allowedText);
		}
		expect(await refusal(access.read("absent.json", maxBytes))).toMatchObject({ code: "unreadable_file" });
	});

	it("when its name begins with two dots", async () => {
		await writeFile(join(folders.root, "..chat.json"), allowedText);
		expect((await read("..chat.json")).toString()).toBe(allowedText);
	});
});

describe("a file outside is refused, without information about it", () => {
	it.each<[string, (folders: Folders) => string]>([
		["by two dots", () => "../outside/chat.json"],
		["by two dots after a missing folder", () => "absent/../../outside/chat.json"],
		["by many dots", () => `${"../".repeat(60)}etc/hostname`],
		["by an absolute path", ({ outside }) => join(outside, "chat.json")],
		["by an absolute path with dots", ({ root }) => `${root}/../outside/chat.json`],
		["by a path that only begins like the allowed one", ({ root }) => `${root}-evil/chat.json`],
		["as a folder", ({ outside }) => outside],
		["as the parent of the allowed folder", () => ".."],
		["as the root of all", () => "/"],
		["as an open file of the server", () => "/proc/self/fd/0"],
		["as the server's environment", () => "/proc/self/environ"],
		["as a device", () => "/dev/zero"],
	])("%s", async (_what, path) => {
		await mkdir(`${folders.root}-evil`);
		await writeFile(`${folders.root}-evil/chat.json`, "");
		const { code, message } = await refusal(read(path(folders)));
		expect(code).toBe("path_not_allowed");
		expect(message).toContain(`Files under ${folders.root} are allowed;`);
	});

	it.each<[string, (folders: Folders) => Promise<string>]>([
		[
			"through a link to the file",
			async ({ root, outside }) => {
				await symlink(join(outside, "chat.json"), join(root, "link.json"));
				return "link.json";
			},
		],
		[
			"through a relative link to the file",
			async ({ root }) => {
				await symlink("../outside/chat.json", join(root, "link.json"));
				return "link.json";
			},
		],
		[
			"through a link to its folder",
			async ({ root, outside }) => {
				await symlink(outside, join(root, "folder"));
				return "folder/chat.json";
			},
		],
		[
			"through a chain of links",
			async ({ root, outside }) => {
				await symlink(join(outside, "chat.json"), join(root, "third"));
				await symlink("third", join(root, "second"));
				await symlink(join(root, "second"), join(root, "first"));
				return "first";
			},
		],
		[
			"through a link out and dots back, to where the dots of a link lead",
			async ({ root, outside }) => {
				await mkdir(join(outside, "deep"));
				await symlink(join(outside, "deep"), join(root, "folder"));
				await symlink("folder/../chat.json", join(root, "link.json"));
				return "link.json";
			},
		],
	])("%s", async (_what, prepare) => {
		expect((await refusal(read(await prepare(folders)))).code).toBe("path_not_allowed");
	});

	it("including whether it exists", async () => {
		const told = async (name: string) => {
			const { code, message } = await refusal(read(join(folders.outside, name)));
			return { code, message: message.replace(name, "") };
		};
		expect(await told("absent.json")).toEqual(await told("chat.json"));
		expect(await told("chat.json/below")).toEqual(await told("chat.json"));
		expect((await told("absent.json")).code).toBe("path_not_allowed");
	});
});

describe("an invalid path is refused", () => {
	it.each<[string, string, string]>([
		["empty", "", "invalid_argument"],
		["with a NUL", "chat.json\0.png", "invalid_argument"],
		["a NUL after a path outside", "../outside/chat.json\0", "invalid_argument"],
		["a home folder by ~", "~/chat.json", "unreadable_file"],
		["only ~", "~", "unreadable_file"],
		["a URL", "file:///etc/hostname", "unreadable_file"],
		["percent-encoded dots", "%2e%2e/outside/chat.json", "unreadable_file"],
		["full-width dots", "．．/outside/chat.json", "unreadable_file"],
		["a character that only resembles a slash", "..∕outside∕chat.json", "unreadable_file"],
		["backslashes", "..\\outside\\chat.json", "unreadable_file"],
		["a name that is too long", "a".repeat(300), "unreadable_file"],
		["a path that is too long", "a/".repeat(3_000), "unreadable_file"],
		["a path of a million characters", "../".repeat(333_333), "invalid_argument"],
		["a missing file", "absent.json", "unreadable_file"],
		["a file below a file", "chat.json/below", "unreadable_file"],
		["a folder", ".", "unreadable_file"],
		["spaces", "  ", "unreadable_file"],
	])("%s", async (_what, path, code) => {
		const start = performance.now();
		const told = await refusal(read(path));
		expect(told.code).toBe(code);
		expect(told.message.length).toBeLessThan(1_000);
		expect(performance.now() - start).toBeLessThan(20_000);
	});

	it("a URL of an allowed file", async () => {
		const url = pathToFileURL(join(folders.root, "chat.json")).href;
		expect((await refusal(read(url))).code).toBe("unreadable_file");
	});

	// File systems that fold case find it, and it is allowed there.
	it.skipIf(process.platform !== "linux")("the allowed folder in another letter case", async () => {
		expect((await refusal(read(join(folders.parent, "ROOT", "chat.json")))).code).toBe("path_not_allowed");
	});

	it("the same name in another Unicode normal form", async () => {
		await writeFile(join(folders.root, "é.json".normalize("NFC")), allowedText);
		const found = await read("é.json".normalize("NFD")).then(String, () => "refused");
		expect([allowedText, "refused"]).toContain(found);
	});

	it("circular links", async () => {
		await symlink("second", join(folders.root, "first"));
		await symlink("first", join(folders.root, "second"));
		expect((await refusal(read("first"))).code).toBe("unreadable_file");
	});

	it("any path, when no folder is allowed", async () => {
		const access = createFileAccess({ workingDirectory: folders.root, roots: async () => [] });
		const missing = createFileAccess({ workingDirectory: folders.root, roots: async () => ["/absent"] });
		for (const one of [access, missing]) {
			for (const path of ["chat.json", "absent.json"]) {
				expect(await refusal(one.read(path, maxBytes))).toMatchObject({
					code: "path_not_allowed",
					message: expect.stringContaining("--allow-path DIR"),
				});
			}
		}
	});
});
