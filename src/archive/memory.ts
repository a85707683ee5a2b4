import type { Retention } from "./archive.ts";
import { type About, type Driver, holdingsOf, type Stored } from "./driver.ts";
import { ambiguous, hexDigitsOfRef } from "./reference.ts";
import { decideSweep, type SweepIntent, sweepOf } from "./retention.ts";

export function createMemoryDriver(options: { readonly retention: Retention; readonly now: () => number }): Driver {
	const { retention, now } = options;
	type Slot = { readonly bytes: Buffer; readonly abouts: Map<string | undefined, About>; usedAt: number };
	const slots = new Map<string, Slot>();
	// A ref holds 8 or 15 of the 64 digits of a hash. This map leads from them to the whole hash.
	const byPrefix = new Map<string, string>();
	const needsLongRef = (hash: string) => byPrefix.get(hash.slice(0, hexDigitsOfRef.short)) !== hash;
	let intent: SweepIntent | undefined;

	const holdings = () => Array.from(slots, ([hash, { bytes, usedAt }]) => ({ hash, bytes: bytes.length, usedAt }));
	const remove = (hash: string): void => {
		slots.delete(hash);
		if (!needsLongRef(hash)) byPrefix.delete(hash.slice(0, hexDigitsOfRef.short));
		byPrefix.delete(hash.slice(0, hexDigitsOfRef.long));
	};

	return {
		location: "the memory of this process",
		async write(entries) {
			const ownerOf = (hash: string, digits: number) => byPrefix.get(hash.slice(0, digits)) ?? hash;
			if (entries.some(({ hash }) => ownerOf(hash, hexDigitsOfRef.long) !== hash)) throw ambiguous();
			for (const { hash, pieces, about } of entries) {
				const isNew = !slots.has(hash);
				const slot = slots.get(hash) ?? { bytes: Buffer.concat([...pieces()]), abouts: new Map(), usedAt: 0 };
				slot.usedAt = now();
				if (!slot.abouts.has(about.toolCallId)) slot.abouts.set(about.toolCallId, about);
				slots.set(hash, slot);
				byPrefix.set(hash.slice(0, hexDigitsOfRef.long), hash);
				// A text that has a long ref keeps it, even when the other text is gone.
				const short = hash.slice(0, hexDigitsOfRef.short);
				if (isNew && !byPrefix.has(short)) byPrefix.set(short, hash);
			}
			return new Set(entries.map(({ hash }) => hash).filter(needsLongRef));
		},
		needsLongRef: async (hash) => needsLongRef(hash),
		async hashesFrom(prefix) {
			const hash = byPrefix.get(prefix);
			return hash === undefined ? [] : [hash];
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
		holdings: async () => holdingsOf(holdings()),
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
