import { readFile } from "node:fs/promises";
import { readAbout } from "../about-json.ts";
import type { About } from "../driver.ts";
import { isAbsent } from "./folder-access.ts";

/** What a text was, from its file; `undefined` where that is absent or damaged. */
export async function readAboutFile(file: string): Promise<About | undefined> {
	try {
		return readAbout(await readFile(file, "utf8"));
	} catch (error) {
		if (isAbsent(error)) return undefined;
		throw error;
	}
}
