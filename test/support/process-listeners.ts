import type { EventEmitter } from "node:events";

const ofProcess = ["SIGTERM", "SIGINT", "SIGHUP", "uncaughtException"] as const;

/** Returns what takes the listeners away that a command adds to this process meanwhile: in its own process they end with it. */
export function noteListeners(): () => void {
	const watched: (readonly [EventEmitter, string])[] = [
		...ofProcess.map((event) => [process, event] as const),
		[process.stdout, "error"],
		[process.stderr, "error"],
	];
	const before = watched.map(([emitter, event]) => emitter.listeners(event));
	return () => {
		for (const [index, [emitter, event]] of watched.entries()) {
			for (const listener of emitter.listeners(event)) {
				if (!before[index]?.includes(listener)) emitter.off(event, listener as () => void);
			}
		}
	};
}
