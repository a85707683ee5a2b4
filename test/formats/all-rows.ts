import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { FormatRow } from "./format-row.ts";

const folder = resolve(import.meta.dirname, "rows");

/** Every format, as the contract suite knows it. */
export const rows: readonly FormatRow[] = await Promise.all(
	readdirSync(folder)
		.sort()
		.map(async (file) => ((await import(pathToFileURL(resolve(folder, file)).href)) as { row: FormatRow }).row),
);
