import type { Retention } from "./archive.ts";
import { ambiguous } from "./create-archive.ts";
import type { About, Driver, Stored } from "./driver.ts";
import { hexDigitsOfRef } from "./ref.ts";
import { decideSweep, type SweepIntent, sweepOf } from "./retention.ts";

interface Slot {
	readonly bytes: Buffer;
	/** By tool call id. */
	readonly abouts: Map<string | undefined, About>;
	usedAt: number;
}

/** Stores in this process alone, until it ends. */
export function createMemoryDriver(options: { readonly retention: Retention; readonly now: () => number }): Driver {
	const { retention, now } = options;
	const slots = new Map<string, Slot>();
	// Refs share 15 of 64 digits: one look-up instead of a walk over all.
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
			const collides = ({ hash }: { readonly hash: string }) =>
				(byPrefix.get(hash.slice(0, hexDigitsOfRef)) ?? hash) !== hash;
			if (entries.some(collides)) throw ambiguous();
			for (const { hash, pieces, about } of entries) {
				const slot = slots.get(hash) ?? { bytes: Buffer.concat([...pieces()]), abouts: new Map(), usedAt: 0 };
				slot.usedAt = now();
				if (!slot.abouts.has(about.toolCallId)) slot.abouts.set(about.toolCallId, about);
				slots.set(hash, slot);
				byPrefix.set(hash.slice(0, hexDigitsOfRef), hash);
			}
		},
		async hashesFrom(prefix) {
			const hash = byPrefix.get(prefix);
			return hash === undefined ? [] : [hash];
		},
		async read(hash) {
			const slot = slots.get(hash);
			if (slot === undefined) return undefined;
			slot.usedAt = now();
			return cut(slot.bytes);
		},
		distrust: remove,
		async aboutsOf(hash) {
			return [...(slots.get(hash)?.abouts.values() ?? [])];
		},
		async find(toolCallId) {
			return Array.from(slots).flatMap(([hash, { abouts }]): Stored[] => {
				const about = abouts.get(toolCallId);
				return about === undefined ? [] : [{ hash, about }];
			});
		},
		async *hashes() {
			yield* [...slots.keys()];
		},
		async holdings() {
			const all = holdings();
			const oldestUse = all.reduce((oldest, { usedAt }) => Math.min(oldest, usedAt), Number.POSITIVE_INFINITY);
			const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
			return { originals: all.length, bytes, oldestUse: all.length === 0 ? null : oldestUse };
		},
		async claimSweep() {
			return true;
		},
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

async function* cut(bytes: Buffer): AsyncGenerator<Buffer> {
	for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}
