import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { archiveLocation, createArchiveSource } from "../../../src/storage/archive/open.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const policyWith = (archive: object) => resolvePolicy([{ archive }]);

const opened = async (archive: Archive) => archive;

describe("the location of the archive", () => {
	it("comes from the argument, else the environment, else the user's files", () => {
		const environment = { PALIMPSEST_ARCHIVE: "memory", PALIMPSEST_NAMESPACE: "mine" };
		expect(archiveLocation({ environment: {} })).toEqual({ where: "files", namespace: "default" });
		expect(archiveLocation({ environment })).toEqual({ where: "memory", namespace: "mine" });
		const given = { archive: "redis://host", namespace: "theirs" };
		expect(archiveLocation({ ...given, environment })).toEqual({ where: "redis://host", namespace: "theirs" });
		const empty = { PALIMPSEST_ARCHIVE: "", PALIMPSEST_NAMESPACE: "" };
		expect(archiveLocation({ environment: empty })).toEqual({ where: "files", namespace: "default" });
	});

	it("is refused when it is invalid", () => {
		const wrong = [
			{ archive: "memroy" },
			{ archive: "http://host" },
			{ archive: 42 as never },
			{ namespace: "a/b" },
			{ namespace: ".." },
		];
		for (const given of wrong) {
			expect(() => archiveLocation({ ...given, environment: {} })).toThrow(
				expect.objectContaining({ code: "invalid_argument" }),
			);
		}
	});
});

describe("the archive of a process", () => {
	const policy = () => policyWith({});

	it("is none when nothing is to be kept", () => {
		expect(createArchiveSource({ location: { where: "none", namespace: "a" }, policy })).toBeUndefined();
	});

	it("is opened once, and only when it keeps something", async () => {
		const folder = await scratchFolder();
		const source = createArchiveSource({ location: { where: folder, namespace: "a" }, policy });
		const [one, other] = await Promise.all([source?.use(opened), source?.use(opened)]);
		expect(one).toBe(other);
		expect(await readdir(folder)).toEqual([]);
		await source?.use((archive) => archive.put([{ text: "x", kind: "text" }]));
		expect(await readdir(folder)).not.toEqual([]);
	});

	it("is reopened when its policy changes, except in memory", async () => {
		let archive: object = {};
		const of = async (where: string) =>
			createArchiveSource({ location: { where, namespace: "a" }, policy: () => policyWith(archive) });
		const [files, memory] = [await of(await scratchFolder()), await of("memory")];
		const [before, kept] = [await files?.use(opened), await memory?.use(opened)];
		archive = { redact: ["secret"] };
		const after = await files?.use(opened);
		expect(after).not.toBe(before);
		expect(after?.refOf("a secret")).not.toBe(before?.refOf("a secret"));
		expect(await files?.use(opened)).toBe(after);
		expect(await memory?.use(opened)).toBe(kept);
	});

	it("fails for its users when it cannot be opened, and is tried again", async () => {
		let redact = ["("];
		const location = { where: await scratchFolder(), namespace: "a" };
		const source = createArchiveSource({ location, policy: () => policyWith({ redact }) });
		const refused = expect.objectContaining({ code: "invalid_argument" });
		await expect(source?.use(opened)).rejects.toEqual(refused);
		await expect(source?.use(opened)).rejects.toEqual(refused);
		redact = [];
		expect(await source?.use(opened)).toBeDefined();
	});

	it("stays open until running calls end", async () => {
		const location = { where: "memory", namespace: "a" };
		const source = createArchiveSource({ location, policy });
		let proceed = (): void => {};
		const waiting = new Promise<void>((resolve) => {
			proceed = resolve;
		});
		const read = source?.use(async (archive) => {
			const [ref = ""] = await archive.put([{ text: "x", kind: "text" }]);
			await waiting;
			return (await archive.get(ref)).text;
		});
		source?.end();
		proceed();
		expect(await read).toBe("x");
	});

	it("is not used when a file is in its way", async () => {
		const file = join(await scratchFolder(), "file");
		await writeFile(file, "");
		const source = createArchiveSource({ location: { where: file, namespace: "a" }, policy });
		const put = source?.use((archive) => archive.put([{ text: "x", kind: "text" }]));
		await expect(put).rejects.toMatchObject({ code: "archive_unavailable" });
	});
});
