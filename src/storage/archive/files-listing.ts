import { lstatSync } from "node:fs";
import path from "node:path";
import { namesIn } from "../files/disk.ts";
import { byUse, type HoldingPage, isAfter, type ListingPlace } from "./driver.ts";
import { type Layout, readName } from "./files-layout.ts";
import type { Holding } from "./retention.ts";

/** A folder at a time where there are many texts: hashes fill all folders alike, so that one tells how many there are. */
export async function* holdingPages(
	layout: Layout,
	after: ListingPlace | undefined,
	mostCompared: number,
): AsyncGenerator<HoldingPage> {
	const buckets = await bucketsIn(layout.folder);
	const [first] = buckets;
	const isByHash = after && after.usedAt === undefined;
	const estimate = first === undefined || after ? 0 : (await textsIn(first)).length * buckets.length;
	if (!isByHash && estimate <= mostCompared) {
		const texts = (await holdingsIn(layout)).filter((one) => isAfter(one, after));
		yield { order: "use", texts: texts.sort(byUse) };
		return;
	}
	const { hash: last = "" } = after ?? {};
	for (const bucket of buckets.filter((folder) => path.basename(folder) >= last.slice(0, 2))) {
		const names = (await textsIn(bucket)).filter((hash) => hash > last && !(last !== "" && hash.startsWith(last)));
		yield { order: "hash", texts: holdingsOf(bucket, names.sort()) };
	}
}

export async function holdingsIn(layout: Layout): Promise<Holding[]> {
	const buckets: Holding[][] = [];
	for (const bucket of await bucketsIn(layout.folder)) buckets.push(holdingsOf(bucket, await textsIn(bucket)));
	return buckets.flat();
}

/** Asks synchronously, a folder at a time, which takes a fifth of the time for many texts; other work goes on in between. */
function holdingsOf(bucket: string, hashes: readonly string[]): Holding[] {
	return hashes.flatMap((hash): Holding[] => {
		const found = lstatSync(path.join(bucket, hash), { throwIfNoEntry: false });
		return found?.isFile() ? [{ hash, bytes: found.size, usedAt: found.mtimeMs }] : [];
	});
}

/** The existing folders, named by the first two digits of their files. */
export async function bucketsIn(folder: string): Promise<string[]> {
	const digits = (await namesIn(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name));
	return digits.sort().map((name) => path.join(folder, name));
}

export async function textsIn(bucket: string): Promise<string[]> {
	return (await namesIn(bucket)).filter(isText);
}

/** Without a pattern for most names: a listing asks for hundreds of thousands. */
export function isText(name: string): boolean {
	return name.length === 64 && readName(name).is === "text";
}
