import { afterEach, describe, expect, it, vi } from "vitest";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

const folder = scratchFolder();

afterEach(() => {
	vi.unstubAllEnvs();
});

describe("a text that is archived in pieces", () => {
	it("reports the folder for temporary files when it is unusable, not the archive's", async () => {
		const missing = `${await folder}/not-there`;
		vi.stubEnv("TMPDIR", missing);
		vi.stubEnv("TEMP", missing);
		const archive = await openArchive({ where: await folder });
		const failed = archive?.putInPieces({ kind: "text" }, 1_000_000);
		await expect(failed).rejects.toMatchObject({
			code: "archive_unavailable",
			message: `The folder for temporary files (TMPDIR) ${missing} cannot be used: it is not there, and cannot be made. Choose another folder (ENOENT).`,
		});
	});
});
