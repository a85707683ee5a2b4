import { createHash, randomUUID } from "node:crypto";
import { constants, readSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname, uptime as secondsOfUptime, tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { wrongArgument } from "../../engine/policy/errors.js";
import { PalimpsestError } from "../../errors.js";
import { decodeBytes, decodeText, encodeText, firstBytes, sha256 } from "../../formats/json-text/text-bytes.js";
import { openNew } from "../files/disk.js";
import { isOriginal, usingPlace } from "./driver.js";
import { ambiguous, formsOfRef, hashPrefixOfRef, nearRefs, prefixesNear, refOfHash, tidyRef } from "./reference.js";
import { safeForMs } from "./retention.js";
/** `redacts` says whether `redact` may change a text; `uptime` is that of the machine, in ms. */
export function createArchive(parts) {
	const { namespace, driver, redact, redacts = true, now, uptime = () => secondsOfUptime() * 1000 } = parts;
	let sweeping = Promise.resolve();
	let sweptAt = Number.NEGATIVE_INFINITY;
	let closed = false;
	const sweepHourly = () => {
		const at = now();
		if (closed || (at >= sweptAt && at - sweptAt < safeForMs)) return;
		sweptAt = at;
		const time = { now: at, unasked: { uptime: uptime(), machine: hostname() } };
		const sweepOnce = async () => ((await driver.claimSweep()) ? driver.sweep(time) : undefined);
		// After a failure, the next sweep does the work.
		sweeping = sweepOnce().catch(() => undefined);
	};
	const listingOf = (hash, about) => ({ ref: refOfHash(hash), ...about });
	const entryOf = ({ text: original, kind, toolCallId, toolName }) => {
		const { text, redactions } = redact(original);
		const size = { chars: text.length, bytes: bytesOf(text) };
		const about = { kind, toolCallId, toolName, ...size, archivedAt: now(), redactions };
		return { hash: hashOf(text), pieces: () => encodeText(text), about };
	};
	const nothingUnder = async (given, isWhole) => {
		const near = nearRefs(given);
		const consider = (hash) => {
			for (const ref of formsOfRef(refOfHash(hash))) near.consider(ref);
		};
		for (const hash of await driver.hashesFrom(prefixesNear(given))) consider(hash);
		let compared = 0;
		for await (const hash of driver.hashes()) {
			if (compared === mostCompared) break;
			compared += 1;
			consider(hash);
		}
		const nearest = near.nearest().filter((ref) => ref !== given);
		const reason = isWhole
			? "No original is kept under this reference: it was altered, or the original has expired or was never kept here."
			: "This reference was altered or shortened.";
		const advice =
			nearest.length === 0
				? "Copy the reference from the placeholder, character by character, or ask by tool_call_id."
				: `Nearest to it: ${nearest.join(", ")}.`;
		return new PalimpsestError("original_not_found", `${reason} ${advice}`);
	};
	const resolve = async (given) => {
		requireString(given, "`ref`");
		const tidied = tidyRef(given);
		const prefix = hashPrefixOfRef(tidied);
		const [hash, another] = prefix === undefined ? [] : await driver.hashesFrom([prefix]);
		if (hash === undefined) throw await nothingUnder(tidied, prefix !== undefined);
		if (another !== undefined) throw ambiguous();
		return hash;
	};
	const bestListing = async (hash, chars, bytes) => {
		const abouts = await driver.aboutsOf(hash);
		// The record of a tool call says more than that of a truncated text. Of several, the oldest counts.
		const [first] = abouts.toSorted(
			(a, b) => Number(a.toolCallId === undefined) - Number(b.toolCallId === undefined) || a.archivedAt - b.archivedAt,
		);
		const redactions = Math.max(0, ...abouts.map((about) => about.redactions));
		// A crash can lose the record of a text, but not the text.
		const known = first ?? { kind: "text", archivedAt: now() };
		return listingOf(hash, { ...known, chars, bytes, redactions });
	};
	const archive = {
		namespace,
		location: driver.location,
		refOf(text) {
			requireString(text, "the text of `refOf`");
			return refOfHash(hashOf(redact(text).text));
		},
		async put(originals, { isHeldElsewhere } = { isHeldElsewhere: false }) {
			checkOriginals(originals);
			const entries = originals.map(entryOf);
			const apart = new Map(entries.map((entry) => [`${entry.hash} ${entry.about.toolCallId ?? ""}`, entry]));
			if (apart.size > 0) await driver.write([...apart.values()], isHeldElsewhere ? "after" : "before");
			sweepHourly();
			return entries.map(({ hash }) => refOfHash(hash));
		},
		async putInPieces(original, maxBytes) {
			if (redacts) {
				return holdPieces(maxBytes, async (text) => (await archive.put([{ ...original, text }]))[0]);
			}
			return spoolPieces(maxBytes, async (spooled, size) => {
				const about = { ...original, ...size, archivedAt: now(), redactions: 0 };
				await driver.write([{ ...spooled, about }], "before");
				sweepHourly();
				return refOfHash(spooled.hash);
			});
		},
		async has(ref) {
			requireString(ref, "`ref`");
			const prefix = hashPrefixOfRef(tidyRef(ref));
			return prefix !== undefined && (await driver.hashesFrom([prefix])).length > 0;
		},
		async get(ref) {
			const { listing, value } = await archive.read(ref, async (pieces) => {
				let text = "";
				for await (const piece of pieces) text += piece;
				return text;
			});
			return { ...listing, text: value };
		},
		async read(ref, consume) {
			if (typeof consume !== "function") throw wrongArgument("the consumer of `read`", "a function", consume);
			const hash = await resolve(ref);
			const stored = await driver.read(hash);
			if (stored === undefined) throw await nothingUnder(tidyRef(ref), true);
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
			const pieces = { [Symbol.asyncIterator]: () => ({ next }) };
			try {
				const value = await consume(pieces);
				while ((await next()).done !== true);
				if (digest.digest("hex") !== hash) {
					driver.distrust(hash);
					throw await nothingUnder(tidyRef(ref), true);
				}
				return { listing: await bestListing(hash, chars, bytes), value };
			} finally {
				await texts.return(undefined);
			}
		},
		async find(toolCallId) {
			requireString(toolCallId, "`toolCallId`");
			const found = await driver.find(toolCallId);
			const listings = found.map(({ hash, about }) => listingOf(hash, about));
			return listings.sort((a, b) => a.archivedAt - b.archivedAt || a.ref.localeCompare(b.ref));
		},
		async *list() {
			for await (const hash of driver.hashes()) {
				for (const about of await driver.aboutsOf(hash)) yield listingOf(hash, about);
			}
		},
		async *scan(mostBytes, after) {
			for await (const { texts, order } of driver.holdings(after === undefined ? after : parsePlace(after))) {
				for (const some of batchesOf(texts.filter(({ bytes }) => bytes <= mostBytes))) {
					const stored = await driver.peek(some.map(({ hash }) => hash));
					await nextTurn();
					for (const [at, holding] of some.entries()) {
						const [bytes, { hash }] = [stored[at], holding];
						if (bytes === undefined) continue;
						const text = decodeBytes(bytes);
						const isDamaged = () => createHash("sha256").update(bytes).digest("hex") !== hash;
						const listing = async () => (isDamaged() ? undefined : bestListing(hash, text.length, bytes.length));
						yield { ref: refOfHash(hash), text, listing, place: writePlace(holding, order), order };
					}
				}
			}
		},
		async stats() {
			let [originals, bytes, oldest] = [0, 0, Number.POSITIVE_INFINITY];
			for await (const { texts } of driver.holdings()) {
				for (const one of texts) {
					originals += 1;
					bytes += one.bytes;
					oldest = Math.min(oldest, one.usedAt);
				}
			}
			const oldestUse = originals === 0 ? null : Math.round(oldest);
			return { namespace, location: driver.location, originals, bytes, oldestUse };
		},
		sweep: () => driver.sweep({ now: now() }),
		clear: () => driver.clear(),
		async close() {
			closed = true;
			await sweeping;
			await driver.close();
		},
	};
	sweepHourly();
	return archive;
}
/** Hashes that are compared with an unknown reference, beside those that differ from it by little. */
const mostCompared = 5_000;
/** The ref of a text, after the ms of its last use where that is the order: `mcx3k2a1-5fmjfpr3fuqd`. */
function writePlace({ hash, usedAt }, order) {
	const ref = refOfHash(hash);
	return order === "hash" ? ref : `${Math.floor(usedAt).toString(36)}-${ref}`;
}
function parsePlace(place) {
	const [, time, ref = ""] = /^(?:([0-9a-z]{1,9})-)?([a-z2-7]{12})$/.exec(place) ?? [];
	const hash = hashPrefixOfRef(ref);
	if (hash !== undefined) return { hash, usedAt: time === undefined ? undefined : Number.parseInt(time, 36) };
	const message = "Expected the place at which an earlier search stopped, copied from its end, character by character.";
	throw new PalimpsestError("invalid_argument", message);
}
const mostInBatch = { texts: 128, bytes: 1 << 20 };
/** Texts that are read at once: some small ones, or a large one. */
function* batchesOf(held) {
	let [batch, bytes] = [[], 0];
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
const longestAtOnce = 1 << 20;
function hashOf(text) {
	if (text.length <= longestAtOnce && text.isWellFormed()) return sha256(text);
	const digest = createHash("sha256");
	for (const piece of encodeText(text)) digest.update(piece);
	return digest.digest("hex");
}
function bytesOf(text) {
	if (text.isWellFormed()) return Buffer.byteLength(text);
	let bytes = 0;
	for (const piece of encodeText(text)) bytes += piece.length;
	return bytes;
}
function requireString(value, name) {
	if (typeof value !== "string") throw wrongArgument(name, "a string", value);
}
function checkOriginals(originals) {
	const isComplete = (value) => typeof value?.text === "string" && isOriginal(value);
	if (Array.isArray(originals) && originals.every(isComplete)) return;
	const expected = "Expected a list of originals, each with a string `text` and a known `kind`";
	const message = `${expected}, and \`toolCallId\` and \`toolName\` strings or left out.`;
	throw new PalimpsestError("invalid_argument", message);
}
const textKinds = new Set(["result", "text", "arguments"]);
/** The same archive, but `put` refuses placeholders, whose originals would be lost. Kinds that are JSON may hold them. */
export function refusePlaceholders(archive, isPlaceholder) {
	return {
		...archive,
		async put(originals, options) {
			if (originals.some(({ kind, text }) => textKinds.has(kind) && isPlaceholder(text))) {
				const message =
					"A placeholder was about to be archived as an original. Nothing was archived; please report this.";
				throw new PalimpsestError("internal", message);
			}
			return archive.put(originals, options);
		},
	};
}
const pieceBytes = 1 << 20;
/** Collects an original in a temporary file, which loses its name at once if possible, so that it is gone after a crash. */
async function spoolPieces(maxBytes, keep) {
	const file = path.join(tmpdir(), `.palimpsest-${randomUUID()}.tmp`);
	const handle = await usingTemporary(() => openNew(file, constants.O_RDWR));
	// Windows cannot remove an open file.
	await rm(file).catch(() => {});
	const digest = createHash("sha256");
	let [bytes, chars] = [0, 0];
	let isWhole = true;
	// Half a character at the end of a piece waits for its other half.
	let rest = "";
	const append = async (text) => {
		for (const piece of encodeText(text)) {
			digest.update(piece);
			await usingTemporary(() => handle.writeFile(piece));
			bytes += piece.length;
		}
		chars += text.length;
	};
	const discard = async () => {
		await handle.close();
		await rm(file, { force: true });
	};
	return {
		async write(given) {
			if (!isWhole) return;
			const piece = rest + given;
			rest = /[\uD800-\uDBFF]$/.exec(piece)?.[0] ?? "";
			const ready = piece.slice(0, piece.length - rest.length);
			const first = firstBytes(ready, maxBytes - bytes);
			isWhole = first.text.length === ready.length;
			if (!isWhole) rest = "";
			await append(first.text);
		},
		async end() {
			try {
				if (bytes + 3 * rest.length > maxBytes) isWhole = false;
				else await append(rest);
				const pieces = () => piecesOf(handle.fd, bytes);
				return { ref: await keep({ hash: digest.digest("hex"), pieces }, { chars, bytes }), bytes, isWhole };
			} finally {
				await discard();
			}
		},
		discard,
	};
}
/** Names the folder for temporary files in errors, since it is not that of the archive. */
function usingTemporary(use) {
	return usingPlace(tmpdir(), use, "The folder for temporary files (TMPDIR)");
}
function* piecesOf(fd, bytes) {
	for (let start = 0; start < bytes; ) {
		const piece = Buffer.allocUnsafe(Math.min(pieceBytes, bytes - start));
		const read = readSync(fd, piece, 0, piece.length, start);
		if (read === 0) return;
		yield piece.subarray(0, read);
		start += read;
	}
}
function holdPieces(maxBytes, keep) {
	let text = "";
	let bytes = 0;
	let isWhole = true;
	return {
		async write(piece) {
			if (!isWhole) return;
			const first = firstBytes(piece, maxBytes - bytes);
			text += first.text;
			bytes += first.bytes;
			isWhole = first.text.length === piece.length;
		},
		end: async () => ({ ref: await keep(text), bytes, isWhole }),
		async discard() {},
	};
}
