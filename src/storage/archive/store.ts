import { createHash } from "node:crypto";
import { hostname, uptime as secondsOfUptime } from "node:os";
import { PalimpsestError } from "../../errors.ts";
import { encodeText, sha256 } from "../../formats/json-text/text-bytes.ts";
import type { Archive, Original, OriginalKind } from "./archive.ts";
import { type Driver, type Entry, isOriginal } from "./driver.ts";
import { listingOf, requireString } from "./lookup.ts";
import { holdPieces, spoolPieces } from "./pieces.ts";
import { readOriginal, scanOriginals } from "./reading.ts";
import type { Redact } from "./redact.ts";
import { hashPrefixOfRef, refOfHash, tidyRef } from "./reference.ts";
import { safeForMs } from "./retention.ts";

/** `redacts` says whether `redact` may change a text; `uptime` is that of the machine, in ms. */
export function createArchive(parts: {
	readonly namespace: string;
	readonly driver: Driver;
	readonly redact: Redact;
	readonly redacts?: boolean | undefined;
	readonly now: () => number;
	readonly uptime?: (() => number) | undefined;
}): Archive {
	const { namespace, driver, redact, redacts = true, now, uptime = () => secondsOfUptime() * 1000 } = parts;
	let sweeping: Promise<unknown> = Promise.resolve();
	let sweptAt = Number.NEGATIVE_INFINITY;
	let closed = false;
	const sweepHourly = (): void => {
		const at = now();
		if (closed || (at >= sweptAt && at - sweptAt < safeForMs)) return;
		sweptAt = at;
		const time = { now: at, unasked: { uptime: uptime(), machine: hostname() } };
		const sweepOnce = async () => ((await driver.claimSweep()) ? driver.sweep(time) : undefined);
		// After a failure, the next sweep does the work.
		sweeping = sweepOnce().catch(() => undefined);
	};

	const entryOf = ({ text: original, kind, toolCallId, toolName }: Original): Entry => {
		const { text, redactions } = redact(original);
		const size = { chars: text.length, bytes: bytesOf(text) };
		const about = { kind, toolCallId, toolName, ...size, archivedAt: now(), redactions };
		return { hash: hashOf(text), pieces: () => encodeText(text), about };
	};

	const archive: Archive = {
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
				return holdPieces(maxBytes, async (text) => (await archive.put([{ ...original, text }]))[0] as string);
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
		read: (ref, consume) => readOriginal({ driver, now }, ref, consume),
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
		scan: (mostBytes, after) => scanOriginals({ driver, now }, mostBytes, after),
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

const longestAtOnce = 1 << 20;

function hashOf(text: string): string {
	if (text.length <= longestAtOnce && text.isWellFormed()) return sha256(text);
	const digest = createHash("sha256");
	for (const piece of encodeText(text)) digest.update(piece);
	return digest.digest("hex");
}

function bytesOf(text: string): number {
	if (text.isWellFormed()) return Buffer.byteLength(text);
	let bytes = 0;
	for (const piece of encodeText(text)) bytes += piece.length;
	return bytes;
}

function checkOriginals(originals: readonly Original[]): void {
	const isComplete = (value: Partial<Original> | null) => typeof value?.text === "string" && isOriginal(value);
	if (Array.isArray(originals) && originals.every(isComplete)) return;
	const expected = "Expected a list of originals, each with a string `text` and a known `kind`";
	const message = `${expected}, and \`toolCallId\` and \`toolName\` strings or left out.`;
	throw new PalimpsestError("invalid_argument", message);
}

const textKinds: ReadonlySet<OriginalKind> = new Set(["result", "text", "arguments"]);

/** The same archive, but `put` refuses placeholders, whose originals would be lost. Kinds that are JSON may hold them. */
export function refusePlaceholders(archive: Archive, isPlaceholder: (text: string) => boolean): Archive {
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
