import { startRepeatFinder } from "../../engine/truncation/repeats.ts";
import { isReferenceLine } from "../../storage/restore/recognise.ts";

export type SentLines = ReturnType<typeof startSentLines>;

/** The lines of results as they are sent, by their form, over the requests of a branch. */
export function startSentLines() {
	let finder = startRepeatFinder(isReferenceLine);
	let added = 0;
	let places = new Map<number, number>();
	const numbers = new Map<string, number>();
	const texts = new Map<number, string>();
	return {
		/** Takes these results to be in view, and no others. The texts are held until `rest`. */
		show(view: readonly ShownResult[]): void {
			if (added > 2 * view.length + 64) {
				finder = startRepeatFinder(isReferenceLine);
				added = 0;
				numbers.clear();
			}
			const before = new Map(numbers);
			places = new Map();
			texts.clear();
			for (const { place, name, text } of view) {
				let number = numbers.get(name);
				if (number === undefined) {
					number = finder.add(text);
					numbers.set(name, number);
					added += 1;
				}
				before.delete(name);
				places.set(number, place);
				texts.set(number, text);
			}
			for (const [name, number] of before) {
				finder.remove(number);
				numbers.delete(name);
			}
		},
		find: (text: string) => finder.find(text, (number) => texts.get(number) as string),
		placeOf: (number: number) => places.get(number) as number,
		/** Lets the texts go. */
		rest: () => texts.clear(),
	};
}

export interface ShownResult {
	readonly place: number;
	/** Of its key and its form. */
	readonly name: string;
	readonly text: string;
}
