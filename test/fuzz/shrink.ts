import { placesIn } from "./mutations.ts";

/**
 * Makes the input of a failed case smaller while it still fails: takes out members and items, then shortens texts. The
 * input's own members stay, since a check expects them.
 * `fails` says whether an input fails in the same way. Ends after `milliseconds` with the smallest so far.
 */
export async function shrink(
	input: unknown,
	fails: (input: unknown) => Promise<boolean>,
	milliseconds = 20_000,
): Promise<unknown> {
	const end = performance.now() + milliseconds;
	const stillFails = async (one: unknown) => performance.now() < end && fails(structuredClone(one));
	let smallest = structuredClone(input);
	for (let size = Number.POSITIVE_INFINITY; sizeOf(smallest) < size && performance.now() < end; ) {
		size = sizeOf(smallest);
		for (let place = 0; place < placesIn(smallest).length && performance.now() < end; ) {
			const smaller = await firstThat(smallerAt(smallest, place), stillFails);
			if (smaller === undefined) place += 1;
			else smallest = smaller.value;
		}
	}
	return smallest;
}

const sizeOf = (value: unknown) => JSON.stringify(value)?.length ?? 0;

interface Candidate {
	readonly value: unknown;
}

/** The document without what stands at a place, or with less of it: the largest cut first. */
function* smallerAt(document: unknown, place: number): Generator<Candidate> {
	const change = (make: (holder: Record<string | number, unknown>, key: string | number) => void): Candidate => {
		const value = structuredClone(document);
		const at = placesIn(value)[place];
		if (at) make(at.holder as never, at.key);
		return { value };
	};
	const { holder, key } = placesIn(document)[place] as {
		holder: Record<string | number, unknown>;
		key: string | number;
	};
	if (holder !== document) {
		yield change((at, name) => {
			if (Array.isArray(at)) at.splice(Number(name), 1);
			else delete at[name];
		});
	}
	const value = holder[key];
	if (typeof value !== "string" || value.length < 2) return;
	for (const share of [1, 0.5, 0.25, 0.1]) {
		const cut = Math.max(1, Math.floor(value.length * share));
		yield change((at, name) => {
			at[name] = value.slice(cut);
		});
		yield change((at, name) => {
			at[name] = value.slice(0, value.length - cut);
		});
	}
}

async function firstThat(
	candidates: Iterable<Candidate>,
	holds: (value: unknown) => Promise<boolean>,
): Promise<Candidate | undefined> {
	for (const candidate of candidates) if (await holds(candidate.value)) return candidate;
	return undefined;
}
