import { createHash } from "node:crypto";

/**
 * Different texts whose SHA-256 begin with the same 32 bits, so that their short refs are the same: found by trying about
 * 80 000 texts. `more` stands in each.
 */
export function collidingTexts(more = ""): readonly [string, string] {
	const seen = new Map<string, string>();
	for (let number = 0; ; number += 1) {
		const text = `output ${number}\n${more}`;
		const prefix = createHash("sha256").update(text).digest("hex").slice(0, 8);
		const other = seen.get(prefix);
		if (other !== undefined) return [other, text];
		seen.set(prefix, text);
	}
}
