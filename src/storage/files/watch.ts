import { statSync } from "node:fs";

/** Polls, which also works on network drives. Reports a change after one interval without further changes. */
export function watchFile(watch: {
	readonly path: string;
	readonly onChange: () => void;
	readonly onGone: (code: string) => void;
	readonly intervalMilliseconds?: number | undefined;
}): () => void {
	let told = fingerprint(watch.path);
	let last = told;
	const timer = setInterval(() => {
		const now = fingerprint(watch.path);
		// Only if equal twice in a row: otherwise the file may be half written, or between a delete and a rename.
		const rested = now === last;
		last = now;
		if (!rested || now === told) return;
		told = now;
		if (now.includes(":")) watch.onChange();
		else watch.onGone(now);
	}, watch.intervalMilliseconds ?? 500).unref();
	return () => clearInterval(timer);
}

/** For a file that cannot be read, the code of the error. */
function fingerprint(path: string): string {
	try {
		const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
		return [dev, ino, size, mtimeNs, ctimeNs].join(":");
	} catch (error) {
		return String((error as NodeJS.ErrnoException).code);
	}
}
