import type { Message } from "./transcript.ts";

/**
 * Where the arguments of a message's calls stand in what is counted of it: for each call the index in `counted`, or
 * `undefined` where the format counts the call otherwise (as an item that is opaque, or not at all). Formats count a
 * call as its name, then its arguments, in the order of the calls. Takes time in proportion to the message.
 */
export function locateCallArguments({ calls, counted }: Message): readonly (number | undefined)[] {
	const places = new Array<number | undefined>(calls.length).fill(undefined);
	if (calls.length === 0) return places;
	const byName = new Map<string, number[]>();
	for (let call = calls.length - 1; call >= 0; call -= 1) {
		const name = calls[call]?.name ?? "";
		const known = byName.get(name);
		if (known) known.push(call);
		else byName.set(name, [call]);
	}
	let nextCall = 0;
	for (let index = 0; index + 1 < counted.length; index += 1) {
		const left = byName.get(counted[index] as string);
		while (left && (left.at(-1) ?? nextCall) < nextCall) left.pop();
		const call = left?.pop();
		if (call === undefined) continue;
		places[call] = index + 1;
		nextCall = call + 1;
		index += 1;
	}
	return places;
}

/** The arguments of each call of a message as the format counts them: JSON, or the text of a call that takes free text. */
export function callArguments(message: Message): readonly (string | undefined)[] {
	return locateCallArguments(message).map((place) => (place === undefined ? undefined : message.counted[place]));
}
