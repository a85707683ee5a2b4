import { createHash } from "node:crypto";
import { relative } from "node:path";

/** A change of the source. Lines and columns begin with 0. */
export interface Mutant {
	readonly id: string;
	readonly fileName: string;
	readonly mutatorName: string;
	readonly replacement: string;
	readonly location: Range;
	readonly status?: string;
}

interface Range {
	readonly start: Position;
	readonly end: Position;
}

interface Position {
	readonly line: number;
	readonly column: number;
}

/** The same in every run over the same source. */
export function nameOf(mutant: Mutant): string {
	const { start, end } = mutant.location;
	const place = `${start.line + 1}:${start.column + 1}-${end.line + 1}:${end.column + 1}`;
	return `${fileOf(mutant)}:${place} ${mutant.mutatorName} ${mutant.replacement}`;
}

/** How its line of `test/mutation-survivors.md` begins. It stays as lines above it are added to the source. */
export function explanationKey(mutant: Mutant, source: string): string {
	const line = source.split("\n")[mutant.location.start.line]?.trim();
	return `- ${fileOf(mutant)}: \`\`${line}\`\` → \`\`${mutant.replacement.replace(/\s+/g, " ")}\`\`:`;
}

/** From the folder of the checkout. */
export function fileOf({ fileName }: Mutant): string {
	return relative(process.cwd(), fileName).replaceAll("\\", "/");
}

/** A sample of the names: those with the smallest hashes under the seed. */
export function sampleOf({ names, seed, size }: { names: readonly string[]; seed: number; size: number }): string[] {
	return names
		.map((name) => ({ name, rank: createHash("sha256").update(`${seed}\n${name}`).digest("hex") }))
		.sort((a, b) => (a.rank < b.rank ? -1 : 1))
		.slice(0, size)
		.map(({ name }) => name);
}
