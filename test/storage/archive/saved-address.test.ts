import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memoryFolderFor } from "../../../src/proxy/sending/memory.ts";
import { nameForPrograms } from "../../../src/storage/archive/open.ts";
import {
	nameWithoutCredentials,
	redisLocation,
	saveAddress,
	savedAddress,
} from "../../../src/storage/archive/saved-address.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const withCredentials = [
	["redis://:pa55word@db.example:6380/3", "saved:redis://db.example:6380/3"],
	["redis://joe:pa55word@db.example", "saved:redis://db.example"],
	["rediss://joe@db.example/", "saved:rediss://db.example"],
	["redis://joe:pa%40ss%2Fword@[::1]:6379", "saved:redis://[::1]:6379"],
	["redis://db.example?password=pa55word", "saved:redis://db.example"],
	["redis://db.example/1#pa55word", "saved:redis://db.example/1"],
] as const;

const withoutCredentials = [
	"files",
	"none",
	"memory",
	"/var/lib/kept: 100%?x@y",
	"redis://db.example:6379",
	"rediss://db.example/0",
	"redis://DB.example/",
	"saved:redis://db.example:6379",
];

describe("the name of an archive for other programs", () => {
	it.each(withCredentials)("leaves out the credentials of %s", (address, name) => {
		expect([nameForPrograms({ where: address }), nameWithoutCredentials(address)]).toEqual([name, name]);
		expect(redisLocation(address)).toBe(name.slice("saved:".length));
	});

	it.each(withoutCredentials)("is %s to the byte", (where) => {
		expect(nameForPrograms({ where })).toBe(where);
	});

	it.each([
		"redis://:pa/ss@db.example:6379",
		"redis://joe:12/ss@db.example:6379",
		"redis://pass?word@db.example",
		"redis://pass#word@db.example",
		"redis://db.example/pass",
		"redis:///pass",
		"rediss:pass",
	])("refuses %s with a password that is not escaped, without quoting it", (address) => {
		for (const read of [() => nameWithoutCredentials(address), () => redisLocation(address)]) {
			expect(read).toThrow(/^Expected the address of a Redis(?!.*(?:pass|ss@|word))/);
		}
	});

	it("leads to the same remembered conversations after the password has changed", () => {
		const folders = ["old", "new"].map((password) =>
			memoryFolderFor({ where: `redis://:${password}@db.example`, namespace: "default" }),
		);
		expect(folders[0]).toBe(folders[1]);
		expect(folders[0]).not.toBe(memoryFolderFor({ where: "redis://db.example", namespace: "default" }));
	});
});

describe("a saved address", () => {
	const [address, name] = withCredentials[0];

	it("is found by its name, in a file that only this user can read", async () => {
		const folder = join(await scratchFolder(), "state", "addresses");
		await saveAddress(address, { folder, namespace: "default" });
		await saveAddress("redis://db.example:6379", { folder, namespace: "default" });
		await saveAddress("/var/lib/kept", { folder, namespace: "default" });
		const files = await readdir(folder);
		expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
		expect(await readFile(join(folder, files[0] as string), "utf8")).toBe(address);
		if (process.platform !== "win32") {
			expect((await stat(join(folder, files[0] as string))).mode & 0o777).toBe(0o600);
			expect((await stat(folder)).mode & 0o777).toBe(0o700);
		}
		expect(savedAddress(name, { folder, namespace: "default" })).toBe(address);
		expect(savedAddress("redis://db.example:6380/3", { folder, namespace: "default" })).toBe(
			"redis://db.example:6380/3",
		);
	});

	it("is the last one of its namespace, else the one of the default namespace", async () => {
		const folder = await scratchFolder();
		const of = (user: string) => address.replace("://", `://${user}`);
		await saveAddress(of("ann"), { folder, namespace: "default" });
		await saveAddress(of("joe"), { folder, namespace: "mine" });
		await saveAddress(of("jim"), { folder, namespace: "mine" });
		const found = ["default", "mine", "other"].map((namespace) => savedAddress(name, { folder, namespace }));
		expect(found).toEqual([of("ann"), of("jim"), of("ann")]);
	});

	it("that is absent, damaged or another one is refused with advice", async () => {
		const folder = await scratchFolder();
		const find = () => savedAddress(name, { folder, namespace: "default" });
		expect(find).toThrow(
			expect.objectContaining({ code: "archive_unavailable", message: expect.stringContaining(`for ${name} in`) }),
		);
		await saveAddress(address, { folder, namespace: "default" });
		const [file = ""] = await readdir(folder);
		for (const content of ["", address.slice(0, 12), "redis://:pa55word@other.example:6380/3", "/var/lib/kept"]) {
			await writeFile(join(folder, file), content);
			expect(find, content).toThrow(/^No address is saved here/);
		}
	});
});
