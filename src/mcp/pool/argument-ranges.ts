import { PalimpsestError } from "../../errors.ts";
import { scanJson } from "../scan-json.ts";

/** A part of a text, in bytes; half open. */
export interface ByteRange {
	readonly start: number;
	readonly end: number;
}

/** Which arguments are looked for, and how much may stand around them. */
export interface ArgumentLimits {
	/** Arguments of fewer bytes are not worth finding: they count as outside. */
	readonly smallest: number;
	/** Most bytes outside the arguments that are found, of all messages of a batch together. */
	readonly mostOutside: number;
}

/** Most messages of a batch, as in the SDK. */
const mostMessages = 100;

/** Most members and items outside of what arguments hold. The SDK's schemas take 5 µs for each; a batch of 100 calls has 800. */
const mostValues = 2_000;

const [openBracket, openBrace] = [0x5b, 0x7b];

/**
 * Finds the values of `params.arguments` in a JSON-RPC message, or in each of a batch, without reading them. This takes
 * less time than `JSON.parse`, and makes nothing that would have to be copied for another thread. The result means nothing
 * when the text is no JSON. It stops as soon as too much stands outside, so that nobody waits for a large message that is
 * refused anyway.
 *
 * @throws PalimpsestError `payload_too_large`; `invalid_argument` for too many messages in a batch.
 */
export function argumentRanges(bytes: Uint8Array, { smallest, mostOutside }: ArgumentLimits): readonly ByteRange[] {
	const found: ByteRange[] = [];
	let inside = 0;
	let values = 0;
	const scan = scanJson(bytes);
	const checked = (at: number): number => {
		if (at - inside > mostOutside) throw tooMuchOutside(mostOutside);
		if (values > mostValues) throw tooManyValues();
		return at;
	};
	const countValue = (): undefined => {
		values += 1;
	};
	const skip = (from: number): number => checked(scan.skipValue(from, inside + mostOutside + 1, countValue));
	const members = (at: number, visit: (key: string, value: number) => number): number => {
		if (bytes[at] !== openBrace) return Math.max(skip(at), at + 1);
		return scan.members(at, (key, value) => {
			countValue();
			return visit(key, checked(value));
		});
	};
	const argumentsAt = (start: number): number => {
		const end = scan.skipValue(start);
		// The SDK only sees that they are an object; each tool checks what its own hold.
		if (end - start <= mostOutside) scan.members(start, countValue);
		if (end - start >= smallest) {
			found.push({ start, end });
			inside += end - start;
		}
		return checked(end);
	};
	const params = (at: number): number =>
		members(at, (key, value) => (key === "arguments" ? argumentsAt(value) : skip(value)));
	const message = (at: number): number => members(at, (key, value) => (key === "params" ? params(value) : skip(value)));
	const first = scan.skipBlanks(0);
	const isBatch = bytes[first] === openBracket;
	let at = isBatch ? scan.skipBlanks(first + 1) : first;
	let messages = 0;
	do {
		messages += 1;
		if (messages > mostMessages) throw tooManyMessages();
		const comma = scan.skipBlanks(message(at));
		at = scan.skipBlanks(comma + 1);
	} while (isBatch && at < bytes.length);
	checked(bytes.length);
	return found;
}

/** The refusal of a message that is large elsewhere than in a tool call's arguments. */
export function tooMuchOutside(limit: number): PalimpsestError {
	const message = `Expected at most ${limit} bytes of a JSON-RPC message outside the arguments of a tool call. Put conversations and texts into params.arguments of tools/call.`;
	return new PalimpsestError("payload_too_large", message);
}

function tooManyValues(): PalimpsestError {
	const message = `Expected at most ${mostValues} members and items of a JSON-RPC message outside the arguments of a tool call. Send fewer.`;
	return new PalimpsestError("payload_too_large", message);
}

function tooManyMessages(): PalimpsestError {
	return new PalimpsestError("invalid_argument", `Expected at most ${mostMessages} messages in a batch. Send fewer.`);
}
