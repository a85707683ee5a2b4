import { fileURLToPath } from "node:url";
import { Piscina } from "piscina";

/** Threads that run a function of a module, which stands beside this one in `src` or in `dist`. */
export function openThreads(what: {
	readonly module: URL;
	readonly name: string;
	/** Threads that stay although they have no work. */
	readonly least: number;
	readonly most: number;
}): Piscina {
	const { module, name, least, most } = what;
	const threads = new Piscina({
		filename: fileURLToPath(module),
		name,
		minThreads: least,
		maxThreads: most,
		idleTimeout: 60_000,
		// A thread that blocks while it waits for a job would not serve its connection to Redis.
		atomics: "disabled",
		recordTiming: false,
		// Not deeper than that of the main thread, which writes the answers again.
		resourceLimits: { stackSizeMb: 1 },
	});
	// A thread that fails without a job is replaced when the next one comes.
	threads.on("error", () => undefined);
	return threads;
}
