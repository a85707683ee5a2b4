import type { Retention } from "./archive.ts";
import { type About, byUse, type Driver, isAfter, type Stored } from "./driver.ts";
import { ambiguous, hexDigitsOfRef } from "./reference.ts";
import { decideSweep, type SweepIntent, sweepOf } from "./retention.ts";

export function createMemoryDriver(options: { readonly retention: Retention; readonly now: () => number }): Driver {
	const { retention, now } = options;
	type Slot = { readonly bytes: Buffer; readonly abouts: Map<string | undefined, About>; usedAt: number };
	const slots = new Map<string, Slot>();
	// A ref holds 15 of the 64 digits of a hash. This map leads from them to the whole hash.
	const byPrefix = new Map<string, string>();
	let intent: SweepIntent | undefined;

	const holdings = () => Array.from(slots, ([hash, { bytes, usedAt }]) => ({ hash, bytes: bytes.length, usedAt }));
	const remove = (hash: string): void => {
		slots.delete(hash);
		byPrefix.delete(hash.slice(0, hexDigitsOfRef));
	};

	return {
		location: "the memory of this process",
		async write(entries) {
			for (const { hash, pieces, about } of entries) {
				const prefix = hash.slice(0, hexDigitsOfRef);
				if ((byPrefix.get(prefix) ?? hash) !== hash) throw ambiguous();
				const slot = slots.get(hash) ?? { bytes: Buffer.concat([...pieces()]), abouts: new Map(), usedAt: 0 };
				slot.usedAt = now();
				if (!slot.abouts.has(about.toolCallId)) slot.abouts.set(about.toolCallId, about);
				slots.set(hash, slot);
				byPrefix.set(prefix, hash);
			}
		},
		async hashesFrom(prefixes) {
			const shorter = prefixes.filter((prefix) => prefix.length < hexDigitsOfRef);
			const begins = (hash: string) => shorter.some((prefix) => hash.startsWith(prefix));
			const found = shorter.length === 0 ? [] : [...slots.keys()].filter(begins);
			return [...new Set([...prefixes.flatMap((prefix) => byPrefix.get(prefix) ?? []), ...found])];
		},
		async read(hash) {
			const slot = slots.get(hash);
			if (slot === undefined) return undefined;
			slot.usedAt = now();
			return piecesOf(slot.bytes);
		},
		distrust: remove,
		aboutsOf: async (hash) => [...(slots.get(hash)?.abouts.values() ?? [])],
		async find(toolCallId) {
			return Array.from(slots).flatMap(([hash, { abouts }]): Stored[] => {
				const about = abouts.get(toolCallId);
				return about === undefined ? [] : [{ hash, about }];
			});
		},
		async *hashes() {
			yield* [...slots.keys()];
		},
		async *holdings(after) {
			const texts = holdings().filter((one) => isAfter(one, after));
			yield { order: "use", texts: texts.sort(byUse) };
		},
		peek: async (hashes) => hashes.map((hash) => slots.get(hash)?.bytes),
		claimSweep: async () => true,
		async sweep(time) {
			const all = holdings();
			const { expired, intent: next } = decideSweep({ holdings: all, retention, time, intent });
			intent = next;
			for (const { hash } of expired) remove(hash);
			return sweepOf(all, expired);
		},
		async clear() {
			const count = slots.size;
			slots.clear();
			byPrefix.clear();
			return count;
		},
		async close() {},
	};
}

const pieceBytes = 1 << 16;

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
	for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}
