import type { CallTarget } from "../../engine/use/target.ts";

/** UTF-16 code units at most. */
const longest = 120;

/**
 * What a call was about, on one line: its files and folders, else the program that it ran; `null` where it does not tell.
 * What is too long loses its beginning, since paths end with what tells them apart.
 */
export function targetText(target: CallTarget | undefined): string | null {
	if (!target) return null;
	const files = new Set([...target.reads.map(({ path }) => path), ...target.writes, ...target.paths]);
	const text = files.size > 0 ? Array.from(files).join(", ") : (target.program ?? "");
	const line = text
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim();
	if (line === "") return null;
	return line.length <= longest ? line : `…${line.slice(1 - longest)}`.toWellFormed();
}
