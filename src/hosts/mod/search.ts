import { refOfHash } from "../../storage/archive/reference.ts";
import type { Disk } from "./disk.ts";

const [mostTexts, mostFound, mostLines] = [300, 8, 3];
const mostBytes = 1 << 20;
const longestLine = 200;
const atATime = 16;

/** The originals that hold all words of a query, in any case, the last used first, with their best lines. */
export async function searchTexts(
	query: string,
	{ disk, folder }: { readonly disk: Disk; readonly folder: string },
): Promise<string> {
	const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 20);
	const latest = (await textsIn(folder, disk)).sort((one, other) => other.mtimeMs - one.mtimeMs).slice(0, mostTexts);
	const found: string[] = [];
	let searched = 0;
	for (let at = 0; at < latest.length && found.length < mostFound; at += atATime) {
		const some = latest.slice(at, at + atATime);
		const texts = await Promise.all(some.map(({ path }) => disk.read(path).catch(() => "")));
		for (const [index, text] of texts.entries()) {
			const entry = entryOf(text, words);
			if (entry !== undefined) found.push(`${refOfHash((some[index] as { hash: string }).hash)}:\n${entry}`);
		}
		searched += some.length;
	}
	const head = found.length === 0 ? "No original was found." : "Read one by its ref.";
	return [head, ...found, `Searched the latest ${searched} originals.`].join("\n");
}

async function textsIn(folder: string, disk: Disk) {
	const buckets = (await disk.names(folder).catch(() => [])).filter((name) => /^[0-9a-f]{2}$/.test(name));
	const files = await Promise.all(
		buckets.map(async (bucket) => {
			const names = await disk.names(`${folder}/${bucket}`).catch(() => []);
			return names
				.filter((name) => /^[0-9a-f]{64}$/.test(name))
				.map((hash) => ({ hash, path: `${folder}/${bucket}/${hash}` }));
		}),
	);
	const about = await Promise.all(
		files.flat().map(async (file) => {
			const stat = await disk.stat(file.path).catch(() => undefined);
			return stat === undefined || stat.size > mostBytes ? [] : [{ ...file, mtimeMs: stat.mtimeMs }];
		}),
	);
	return about.flat();
}

function entryOf(text: string, words: readonly string[]): string | undefined {
	const lower = text.toLowerCase();
	if (words.length === 0 || !words.every((word) => lower.includes(word))) return undefined;
	const lines = text.split("\n").map((line, at) => ({ line, number: at + 1 }));
	const best = lines.filter(({ line }) => words.some((word) => line.toLowerCase().includes(word))).slice(0, mostLines);
	return best.map(({ line, number }) => `  ${number}: ${line.trim().slice(0, longestLine)}`).join("\n");
}
