/** How an operator can read what happens; loaded by the command line, so it loads nothing itself. */
export const logKinds = ["text", "json", "off"] as const;

/**
 * - `text`: events in words, from the policy's `log_level` on; calls among them, as `info`.
 * - `json`: every call, and the events from that level on, each as a line of JSON.
 * - `off`: nothing.
 */
export type LogKind = (typeof logKinds)[number];
