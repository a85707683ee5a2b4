import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { PalimpsestError } from "../errors.ts";
import { startCredentialWorker } from "./credential-worker.ts";
import type { FindRanges, Range } from "./redact.ts";

/** Finds credentials of well-known shapes. */
export interface CredentialFinder {
	/** @throws PalimpsestError `archive_unavailable` where one window of the text takes longer than 30 seconds. */
	readonly find: FindRanges;
	readonly close: () => Promise<void>;
}

// The rules take time proportional to a text but for the square of what they find: windows bound that.
const windowChars = 32_768;
// The longest that a rule takes for a credential is a private key of 10 000 characters between its marks.
const overlapChars = 12_288;

/**
 * Loads secretlint with its recommended rules (https://github.com/secretlint/secretlint). It answers by promises only,
 * and references have to be known while planning: it runs in a thread of its own, which is waited for. That also ends
 * what would never end.
 *
 * @throws PalimpsestError `archive_unavailable` where it is not installed.
 */
export async function openCredentialFinder(): Promise<CredentialFinder> {
	const addresses = {
		core: locate("@secretlint/core"),
		preset: locate("@secretlint/secretlint-rule-preset-recommend"),
	};
	const worker = await startCredentialWorker(addresses);
	return {
		find: (text) => [...windowsOf(text)].flatMap((start) => inWindow(text, start, worker.find)),
		close: worker.close,
	};
}

/** Where windows begin: each overlaps with the next, so that no credential is only ever seen in part. */
function* windowsOf(text: string): Generator<number> {
	for (let start = 0; start === 0 || start + overlapChars < text.length; start += windowChars - overlapChars) {
		yield start;
	}
}

function inWindow(text: string, start: number, find: FindRanges): Range[] {
	return find(text.slice(start, start + windowChars)).map(([from, to]): Range => [start + from, start + to]);
}

function locate(name: string): string {
	try {
		return pathToFileURL(createRequire(import.meta.url).resolve(name)).href;
	} catch (cause) {
		throw new PalimpsestError(
			"archive_unavailable",
			"The policy asks for `archive.redact_credentials`, which needs the packages @secretlint/core and @secretlint/secretlint-rule-preset-recommend. Install them, or turn it off.",
			{ cause },
		);
	}
}
