/** Lines of a result that are left out, since they stand in an earlier one. */
export interface RepeatLink {
	readonly place: number;
	/** The earlier result, which shows them itself. */
	readonly source: number;
	/** Of the lines. */
	readonly tokens: number;
}

export type RepeatLinks = ReturnType<typeof startRepeatLinks>;

/**
 * Which result shows lines that several have, while results arrive and are masked: the first that is not masked. Where it is masked,
 * the next one shows them, since no line may point to text that is not there. Of several runs that point to one result, the
 * later count as within the earlier, as far as they are no longer.
 */
export function startRepeatLinks(links: readonly RepeatLink[], saves: ArrayLike<number>) {
	const [pointing, pointed] = [new Map<number, RepeatLink[]>(), new Map<number, RepeatLink[]>()];
	for (const link of links) {
		add(pointed, link.source, link);
		add(pointing, link.place, link);
	}
	/** By source, the result that shows its lines now, and how many of their tokens; none if all are masked. */
	const shown = new Map<number, { readonly place: number; readonly tokens: number } | undefined>();
	const sourcesOf = new Map<number, Set<number>>();
	for (const { place, source } of links) for (const one of [place, source]) addTo(sourcesOf, one, source);
	/** Tokens that came back to a result. */
	const extra = new Float64Array(saves.length);
	const here = new Uint8Array(saves.length);
	const live = Float64Array.from(saves);
	const holderOf = (source: number) =>
		shown.has(source) ? shown.get(source) : { place: source, tokens: Number.POSITIVE_INFINITY };
	const nextOf = (source: number, but: number) =>
		pointed.get(source)?.filter(({ place }) => here[place] === 1 && place !== but) ?? [];
	const update = (place: number) => {
		if (here[place] !== 1) return;
		let back = 0;
		for (const source of sourcesOf.get(place) ?? []) {
			if (holderOf(source)?.place === place) back += mostOf(nextOf(source, place));
		}
		live[place] = Math.max(0, (saves[place] as number) + (extra[place] as number) - back);
	};
	return {
		/** The tokens that masking each result saves now. */
		saves: live,
		/** Whether others point to what a result shows. */
		isHeld: (place: number) =>
			Array.from(sourcesOf.get(place) ?? []).some(
				(source) => holderOf(source)?.place === place && nextOf(source, place).length > 0,
			),
		/** A result arrives. Returns the tokens by which it is larger, since what it would point to is not in view. */
		arrive(place: number): number {
			here[place] = 1;
			let more = 0;
			for (const { source, tokens } of pointing.get(place) ?? []) {
				const holder = holderOf(source);
				if (!holder) shown.set(source, { place, tokens });
				more += Math.max(0, tokens - (holder?.tokens ?? 0));
				if (holder) update(holder.place);
			}
			extra[place] = more;
			update(place);
			return more;
		},
		/** A result is masked. Returns the tokens that go with it, and those that come back to others. */
		mask(place: number): { readonly gone: number; readonly back: readonly (readonly [number, number])[] } {
			here[place] = 0;
			const back: [number, number][] = [];
			for (const source of sourcesOf.get(place) ?? []) {
				if (holderOf(source)?.place !== place) continue;
				const rest = nextOf(source, place);
				let most = 0;
				for (const one of rest) {
					const more = Math.max(0, one.tokens - most);
					most += more;
					if (more === 0) continue;
					extra[one.place] = (extra[one.place] as number) + more;
					back.push([one.place, more]);
				}
				const [first] = rest;
				shown.set(source, first && { place: first.place, tokens: most });
				for (const one of rest) update(one.place);
			}
			for (const source of sourcesOf.get(place) ?? []) {
				const holder = holderOf(source);
				if (holder) update(holder.place);
			}
			return { gone: (saves[place] as number) + (extra[place] as number), back };
		},
	};
}

function mostOf(links: readonly RepeatLink[]): number {
	return links.reduce((most, { tokens }) => Math.max(most, tokens), 0);
}

function add(map: Map<number, RepeatLink[]>, key: number, link: RepeatLink): void {
	const list = map.get(key) ?? [];
	list.push(link);
	map.set(key, list);
}

function addTo(map: Map<number, Set<number>>, key: number, source: number): void {
	const sources = map.get(key) ?? new Set();
	sources.add(source);
	map.set(key, sources);
}
