/** Texts of `group`, `media` and `places` are JSON. `places` hold values that the text alone could not restore. */
export const originalKinds = ["result", "text", "arguments", "group", "media", "places"];
export const defaultRetention = { maxAgeMs: 30 * 24 * 3_600_000, maxBytes: 1_000_000_000 };
