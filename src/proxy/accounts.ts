import { createHmac, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import path from "node:path";
import { isJsonObject } from "../engine/conversation/json.ts";
import { listOf } from "../formats/json-text/value.ts";
import type { Journal } from "./sending/journal.ts";

export type Accounts = ReturnType<typeof createAccounts>;

const mostAccounts = 1_000;

/** A request waits no longer for what other machines have learnt. */
const longestWaitMs = 50;

/**
 * Remembers the accounts that check the messages before bound reasoning, as an answer has shown. They are kept in `folder`, and
 * told to the other machines that have the same journal, as a keyed hash of the upstream and the credential, which reveals neither.
 */
export function createAccounts(folder: string | undefined, shared?: Journal["accounts"]) {
	const file = folder && path.join(folder, "accounts.json");
	let { salt, enforced } = read(file);
	const nameOf = (upstream: string, headers: IncomingHttpHeaders, key = salt): string => {
		const credential = headers["x-api-key"] ?? headers.authorization ?? headers["api-key"] ?? "";
		return createHmac("sha256", key)
			.update(JSON.stringify([upstream, credential]))
			.digest("hex");
	};
	return {
		async isEnforced(upstream: string, headers: IncomingHttpHeaders): Promise<boolean> {
			if (enforced.size > 0 && enforced.has(nameOf(upstream, headers))) return true;
			const nameBy = (key: string) => nameOf(upstream, headers, key);
			const isKnown = await shared?.has(nameBy, { leftMs: longestWaitMs }).catch(() => false);
			if (isKnown) enforced.add(nameOf(upstream, headers));
			return isKnown === true;
		},
		/** Returns whether it is new. If it cannot be written, this process remembers it. */
		learn(upstream: string, headers: IncomingHttpHeaders): boolean {
			const name = nameOf(upstream, headers);
			if (enforced.has(name)) return false;
			const now = read(file);
			// Another process may have been the first to write the file.
			if (now.isThere && now.salt !== salt) ({ salt, enforced } = now);
			for (const one of now.enforced) enforced.add(one);
			enforced.add(nameOf(upstream, headers));
			if (file) write(file, { salt, enforced });
			shared?.add((key) => nameOf(upstream, headers, key), { leftMs: longestWaitMs }).catch(() => {});
			return true;
		},
	};
}

function read(file: string | undefined) {
	try {
		const value: unknown = file && JSON.parse(readFileSync(file, "utf8"));
		if (isJsonObject(value) && typeof value.salt === "string") {
			const enforced = new Set(listOf(value.enforced).filter((one) => typeof one === "string"));
			return { isThere: true, salt: value.salt, enforced };
		}
	} catch {
		// Nothing is learnt yet.
	}
	return { isThere: false, salt: randomBytes(32).toString("hex"), enforced: new Set<string>() };
}

function write(
	file: string,
	{ salt, enforced }: { readonly salt: string; readonly enforced: ReadonlySet<string> },
): void {
	try {
		mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
		const text = JSON.stringify({ salt, enforced: [...enforced].slice(-mostAccounts) });
		writeFileSync(`${file}.${process.pid}`, text, { mode: 0o600 });
		renameSync(`${file}.${process.pid}`, file);
	} catch {
		// One more refused request teaches the next process.
	}
}
