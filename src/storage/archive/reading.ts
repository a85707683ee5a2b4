import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { wrongArgument } from "../../engine/policy/errors.ts";
import { PalimpsestError } from "../../errors.ts";
import { decodeBytes, decodeText } from "../../formats/json-text/text-bytes.ts";
import type { Archive, Listing, ScanOrder } from "./archive.ts";
import type { Driver, ListingPlace } from "./driver.ts";
import { bestListing, nothingUnder, resolveRef } from "./lookup.ts";
import { hashPrefixOfRef, refOfHash, tidyRef } from "./reference.ts";
import type { Holding } from "./retention.ts";

/**
 * Streams an original to its consumer and checks it against its hash. Damaged bytes are not trusted again.
 * @throws PalimpsestError `original_not_found`.
 */
export async function readOriginal<Value>(
	{ driver, now }: { readonly driver: Driver; readonly now: () => number },
	ref: string,
	consume: (pieces: AsyncIterable<string>) => Promise<Value>,
): Promise<{ readonly listing: Listing; readonly value: Value }> {
	if (typeof consume !== "function") throw wrongArgument("the consumer of `read`", "a function", consume);
	const hash = await resolveRef(driver, ref);
	const stored = await driver.read(hash);
	if (stored === undefined) throw await nothingUnder(driver, tidyRef(ref), true);
	const digest = createHash("sha256");
	let [bytes, chars] = [0, 0];
	const hashed = (async function* () {
		for await (const piece of stored) {
			digest.update(piece);
			bytes += piece.length;
			yield piece;
		}
	})();
	const texts = decodeText(hashed);
	const next = async () => {
		const result = await texts.next();
		if (result.done !== true) chars += result.value.length;
		return result;
	};
	// Without `return`: when a consumer stops early, the rest is still read and checked.
	const pieces: AsyncIterable<string> = { [Symbol.asyncIterator]: () => ({ next }) };
	try {
		const value = await consume(pieces);
		while ((await next()).done !== true);
		if (digest.digest("hex") !== hash) {
			driver.distrust(hash);
			throw await nothingUnder(driver, tidyRef(ref), true);
		}
		return { listing: await bestListing(driver, { hash, chars, bytes, now: now() }), value };
	} finally {
		await texts.return(undefined);
	}
}

/** The texts of an archive up to a length, in the order of their last use where it is kept, from a place on. */
export async function* scanOriginals(
	{ driver, now }: { readonly driver: Driver; readonly now: () => number },
	mostBytes: number,
	after: string | undefined,
): ReturnType<Archive["scan"]> {
	for await (const { texts, order } of driver.holdings(after === undefined ? after : parsePlace(after))) {
		for (const some of batchesOf(texts.filter(({ bytes }) => bytes <= mostBytes))) {
			const stored = await driver.peek(some.map(({ hash }) => hash));
			await nextTurn();
			for (const [at, holding] of some.entries()) {
				const [bytes, { hash }] = [stored[at], holding];
				if (bytes === undefined) continue;
				const text = decodeBytes(bytes);
				const isDamaged = () => createHash("sha256").update(bytes).digest("hex") !== hash;
				const listing = async () =>
					isDamaged() ? undefined : bestListing(driver, { hash, chars: text.length, bytes: bytes.length, now: now() });
				yield { ref: refOfHash(hash), text, listing, place: writePlace(holding, order), order };
			}
		}
	}
}

/** The ref of a text, after the ms of its last use where that is the order: `mcx3k2a1-5fmjfpr3fuqd`. */
function writePlace({ hash, usedAt }: Holding, order: ScanOrder): string {
	const ref = refOfHash(hash);
	return order === "hash" ? ref : `${Math.floor(usedAt).toString(36)}-${ref}`;
}

function parsePlace(place: string): ListingPlace {
	const [, time, ref = ""] = /^(?:([0-9a-z]{1,9})-)?([a-z2-7]{12})$/.exec(place) ?? [];
	const hash = hashPrefixOfRef(ref);
	if (hash !== undefined) return { hash, usedAt: time === undefined ? undefined : Number.parseInt(time, 36) };
	const message = "Expected the place at which an earlier search stopped, copied from its end, character by character.";
	throw new PalimpsestError("invalid_argument", message);
}

const mostInBatch = { texts: 128, bytes: 1 << 20 };

/** Texts that are read at once: some small ones, or a large one. */
function* batchesOf(held: readonly Holding[]): Generator<readonly Holding[]> {
	let [batch, bytes]: [Holding[], number] = [[], 0];
	for (const one of held) {
		if (batch.length === mostInBatch.texts || (batch.length > 0 && bytes + one.bytes > mostInBatch.bytes)) {
			yield batch;
			[batch, bytes] = [[], 0];
		}
		batch.push(one);
		bytes += one.bytes;
	}
	if (batch.length > 0) yield batch;
}
