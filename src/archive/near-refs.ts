import { distance } from "fastest-levenshtein";
import { type Ref, refLength } from "./ref.ts";

const mostShown = 3;
const shortestPiece = 5;
// A ref has 20 characters: chance alone does not bring two as near as this.
const mostEdits = 5;

/** Collects the refs nearest to one that was altered or shortened. */
export function nearRefs(wanted: string): { readonly consider: (ref: Ref) => void; readonly nearest: () => Ref[] } {
	let best: { readonly ref: Ref; readonly edits: number }[] = [];
	const editsTo = (ref: Ref): number => {
		const isPiece = wanted.length >= shortestPiece && wanted.length < refLength && ref.includes(wanted);
		return isPiece ? 0 : distance(wanted, ref);
	};
	return {
		consider(ref) {
			const edits = editsTo(ref);
			if (edits > mostEdits || best.some((one) => one.ref === ref)) return;
			best = [...best, { ref, edits }].sort((a, b) => a.edits - b.edits).slice(0, mostShown);
		},
		nearest: () => best.map(({ ref }) => ref),
	};
}
