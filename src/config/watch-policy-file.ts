import { statSync } from "node:fs";
import { PalimpsestError } from "../errors.ts";

/** What to watch, and whom to tell. */
export interface PolicyFileWatch {
	readonly path: string;
	/** Called when the file has changed, appeared or been replaced, once it has rested for one interval. */
	readonly onChange: () => void;
	/** Called once when the file has gone or can no longer be looked at. */
	readonly onError: (error: PalimpsestError) => void;
	/** Time between two looks, in milliseconds. Default 500. */
	readonly intervalMilliseconds?: number | undefined;
}

const missing = "missing";

/**
 * Watches a file by looking at it again and again: that sees replacement by rename, which editors do, and works on
 * network drives. A file may be missing at the start. Never keeps the process alive. Answers with a function that ends
 * the watch.
 */
export function watchPolicyFile(watch: PolicyFileWatch): () => void {
	let told = fingerprint(watch.path);
	let last = told;
	const timer = setInterval(() => {
		const now = fingerprint(watch.path);
		// Waiting until two looks agree passes over files half written and the moment between delete and rename.
		const rested = now === last;
		last = now;
		if (!rested || now === told) return;
		told = now;
		if (!now.startsWith(missing)) watch.onChange();
		else watch.onError(new PalimpsestError("unreadable_file", `The policy file ${watch.path} is gone (${now}).`));
	}, watch.intervalMilliseconds ?? 500);
	timer.unref();
	return () => clearInterval(timer);
}

function fingerprint(path: string): string {
	try {
		const about = statSync(path, { bigint: true });
		return [about.dev, about.ino, about.size, about.mtimeNs, about.ctimeNs].join(":");
	} catch (error) {
		return `${missing}: ${(error as NodeJS.ErrnoException).code}`;
	}
}
