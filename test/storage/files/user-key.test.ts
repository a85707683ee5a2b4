import { stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { userKey } from "../../../src/storage/files/user-key.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

describe("the key of a user", () => {
	it("is one for all processes that make it at once, and stays", async () => {
		const folder = path.join(await scratchFolder(), "state");
		const keys = await Promise.all(Array.from({ length: 8 }, () => userKey(folder)));
		const [first] = keys;
		expect(first).toHaveLength(32);
		for (const key of [...keys, await userKey(folder)]) expect(key).toEqual(first);
		const other = await userKey(path.join(await scratchFolder(), "state"));
		expect(other).not.toEqual(first);
	});

	it.skipIf(process.platform === "win32")("is in a file of this user alone", async () => {
		const folder = await scratchFolder();
		await userKey(folder);
		expect((await stat(path.join(folder, "user.key"))).mode & 0o777).toBe(0o600);
	});

	it("is refused if it is damaged", async () => {
		const folder = await scratchFolder();
		await writeFile(path.join(folder, "user.key"), "x");
		await expect(userKey(folder)).rejects.toThrow("Expected 32 bytes in user.key; got 1.");
	});
});
