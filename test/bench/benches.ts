import type { Section } from "./section.ts";

/** A benchmark by the name under which it can be run alone. */
export interface Bench {
	readonly name: string;
	readonly run: () => Promise<Section>;
	/** Whether it runs without the packages that others are measured against. */
	readonly needsNoPeers?: true;
}

/** All benchmarks, in the order of the page. Each is imported when it runs: some need packages that are large. */
export const benches: readonly Bench[] = [
	{ name: "counting", run: async () => (await import("./counting.ts")).counting() },
	{ name: "pathological", run: async () => (await import("./pathological.ts")).pathological() },
	{ name: "guard", run: async () => (await import("./guard.ts")).guard() },
	{ name: "truncate", run: async () => (await import("./truncate.ts")).truncate() },
	{ name: "replay", run: async () => (await import("./replay.ts")).replay() },
	{ name: "proxy", run: async () => (await import("./proxy.ts")).proxy(), needsNoPeers: true },
	{ name: "live-page", run: async () => (await import("./live-page.ts")).livePage(), needsNoPeers: true },
	{ name: "gateway", run: async () => (await import("./gateway.ts")).gateway(), needsNoPeers: true },
	{ name: "stdio", run: async () => (await import("./stdio.ts")).stdio() },
	{ name: "load", run: async () => (await import("./load.ts")).load() },
	{ name: "hostile", run: async () => (await import("./hostile.ts")).hostile(), needsNoPeers: true },
	{ name: "memory", run: async () => (await import("./memory.ts")).memory() },
	{ name: "cold-start", run: async () => (await import("./cold-start.ts")).coldStart() },
];
