import type { HeldShortening } from "../pipeline/stream/shorten-held.ts";

/**
 * How a hook shortens: as everywhere, but pages as text. A host waits for its hooks with every tool call, and the library
 * that reads pages takes longer to load and to read 100 kB than all the rest.
 */
export const hookShortening: HeldShortening = { htmlToText: undefined };
