import type { OriginalWriter } from "./archive.ts";
import { firstBytes } from "./first-bytes.ts";
import type { Ref } from "./ref.ts";

/** Takes an original piece by piece and holds it, up to `maxBytes`, until it can be kept. */
export function holdPieces(maxBytes: number, keep: (text: string) => Promise<Ref>): OriginalWriter {
	let held: string[] = [];
	let bytes = 0;
	let isWhole = true;
	return {
		async write(piece) {
			if (!isWhole) return;
			const first = firstBytes(piece, maxBytes - bytes);
			held.push(first.text);
			bytes += first.bytes;
			isWhole = first.text.length === piece.length;
		},
		async end() {
			const text = held.join("");
			held = [];
			return { ref: await keep(text), bytes, isWhole };
		},
		async discard() {
			held = [];
		},
	};
}
