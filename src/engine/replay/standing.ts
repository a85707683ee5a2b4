/** Where the strings of one kind stand, while a history is walked through. Each has a number, by which it is asked for. */
export interface Standing {
	/** The numbers of some strings; those that have none yet get one. */
	readonly numbersOf: (strings: readonly string[]) => readonly number[];
	/** The results that hold a string, oldest first. */
	readonly holdersOf: (string: number) => readonly number[];
	/** Whether a string stood in a message itself. */
	readonly isSaid: (string: number) => boolean;
	/** Takes up that strings stand in a message itself. */
	readonly say: (strings: readonly number[]) => void;
	/** Takes up that strings stand in a result; answers how many of them stood nowhere before. */
	readonly hold: (strings: readonly number[], result: number) => number;
}

/**
 * Starts with no strings. Each of them is looked up once for each message and result that it stands in, since hashing
 * and finding strings is most of what a replay does, and most stand in one result: no list is made for those.
 */
export function startStanding(): Standing {
	const numbers = new Map<string, number>();
	const said: boolean[] = [];
	const holders: (number | number[] | undefined)[] = [];
	return {
		numbersOf: (strings) =>
			strings.map((text) => {
				let number = numbers.get(text);
				if (number === undefined) {
					number = numbers.size;
					numbers.set(text, number);
					said.push(false);
					holders.push(undefined);
				}
				return number;
			}),
		holdersOf(string) {
			const held = holders[string];
			return held === undefined ? [] : typeof held === "number" ? [held] : held;
		},
		isSaid: (string) => said[string] === true,
		say(strings) {
			for (const string of strings) said[string] = true;
		},
		hold(strings, result) {
			let fresh = 0;
			for (const string of strings) {
				const held = holders[string];
				if (held === undefined) {
					holders[string] = result;
					if (!said[string]) fresh += 1;
				} else if (typeof held === "number") holders[string] = [held, result];
				else held.push(result);
			}
			return fresh;
		},
	};
}
