import { writeFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { watchFile } from "../../../src/storage/files/watch.ts";
import { patience } from "../../support/patience.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";

// Written in one go: what looks at a file every 10 ms would now and then find it empty between two steps of a write.
it("reports changes, replacement by rename, disappearance and return, and nothing once closed", async () => {
	const folder = await scratchFolder();
	const [path, other] = [join(folder, "watched"), join(folder, "new")];
	writeFileSync(path, "");
	const onChange = vi.fn();
	const onGone = vi.fn();
	const close = watchFile({ path, onChange, onGone, intervalMilliseconds: 10 });
	try {
		writeFileSync(path, "# one\n");
		await vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(1), patience);
		writeFileSync(other, "# two\n");
		await rename(other, path);
		await vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(2), patience);
		await rm(path);
		await vi.waitFor(() => expect(onGone).toHaveBeenCalledWith("ENOENT"), patience);
		writeFileSync(path, "# three\n");
		await vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(3), patience);
	} finally {
		close();
	}
	writeFileSync(path, "# four\n");
	await new Promise((resolve) => setTimeout(resolve, 100));
	expect(onChange).toHaveBeenCalledTimes(3);
	expect(onGone).toHaveBeenCalledTimes(1);
});
